import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { atEnd, once } from './cleanup.ts'

/** A server on a free port of the loopback. */
export interface Listening {
  port: number
  /** Without a slash at the end. */
  origin: string
  /** Closes all connections. */
  stop(): Promise<void>
}

/** Serves on a free port, until the end of the file at the latest. */
export const listen = async (listener: RequestListener): Promise<Listening> => {
  const server = createServer(listener)
  // Longer than a file of specs takes, so that no request meets a closing connection.
  server.keepAliveTimeout = 20 * 60_000
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const stop = once(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  atEnd(stop)
  return { port, origin: `http://127.0.0.1:${port}`, stop }
}
