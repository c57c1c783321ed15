import type { RequestListener } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { connect as connectTls, type SecureContextOptions } from 'node:tls'
import { createLimitedServer, type ServerLimits } from '../../lib/index.ts'
import { atEnd, once } from '../support/cleanup.ts'

/** A client that speaks bytes, and remembers what came back. */
export interface Client {
  readonly socket: Socket
  text(): string
  isOpen(): boolean
  /** When the server has closed the connection: all that came back. */
  readonly ended: Promise<string>
}

export interface Limited {
  readonly port: number
  client(bytes?: string): Client
  /** The same, from another address of this machine. */
  clientFrom(address: string, bytes?: string): Client
  /** Number of open connections, once the server knows of them and they can send requests. */
  connections(): number
  /** Number of requests that the listener got. */
  requests(): number
  stop(): Promise<void>
}

/** Limits that no machine is too slow for. Specs set those that are to expire. */
export const GENEROUS = {
  headersTimeout: 600_000,
  requestTimeout: 600_000,
  bodyIdleTimeout: 600_000,
  idleTimeout: 600_000,
} satisfies ServerLimits

/**
 * Serves on a free port, until the end of the file at the latest.
 * @param limits with `tls`, clients speak https with the authority `ca`
 */
export const limited = async (
  listener: RequestListener,
  { ca, ...limits }: ServerLimits & { tls?: SecureContextOptions | undefined; ca?: string | undefined },
): Promise<Limited> => {
  let [connections, requests] = [0, 0]
  const server = createLimitedServer((req, res) => {
    requests++
    listener(req, res)
  }, limits)
  server.on(ca === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
    connections++
    socket.once('close', () => connections--)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const clients: Socket[] = []
  const clientFrom = (localAddress: string, bytes = '') => {
    const address = { port, host: '127.0.0.1', localAddress }
    const socket = ca === undefined ? connect(address) : connectTls({ ...address, ca })
    const client = clientOf(socket, bytes)
    clients.push(client.socket)
    return client
  }
  const stop = once(async () => {
    for (const socket of clients) socket.destroy()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  atEnd(stop)
  return {
    port,
    client: (bytes = '') => clientFrom('127.0.0.1', bytes),
    clientFrom,
    connections: () => connections,
    requests: () => requests,
    stop,
  }
}

const clientOf = (socket: Socket, bytes: string): Client => {
  let text = ''
  let isOpen = true
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
  })
  socket.on('error', () => undefined)
  const ended = new Promise<string>((resolve) =>
    socket.on('close', () => {
      isOpen = false
      resolve(text)
    }),
  )
  if (bytes !== '') socket.write(bytes)
  return { socket, text: () => text, isOpen: () => isOpen, ended }
}
