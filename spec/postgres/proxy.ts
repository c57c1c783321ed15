import type { AddressInfo } from 'node:net'
import { createServer, connect as dial, type Socket } from 'node:net'

/**
 * What to do with the next message that holds the words: cut the connection before it reaches the database, once it was
 * sent there, or cut it and hand the message over late, when somebody may have asked what came of it.
 */
export type Cut = 'before' | 'after' | 'late'

export interface Proxy {
  port: number
  /** @returns a promise of the moment when it has happened. */
  cutNext(words: string, cut: Cut): Promise<void>
  close(): Promise<void>
}

const LATE = 300

/** Stands between the driver and the database. */
export const startProxy = async (port: number): Promise<Proxy> => {
  const sockets = new Set<Socket>()
  let next: { words: string; cut: Cut; happened: () => void } | undefined

  const pass = (client: Socket) => {
    const server = dial(port, '127.0.0.1')
    for (const socket of [client, server]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.once('close', () => sockets.delete(socket))
    }
    server.on('data', (chunk) => client.write(chunk))
    server.once('close', () => client.destroy())
    client.once('end', () => server.end())
    client.on('data', (chunk) => {
      if (next === undefined || !chunk.includes(next.words)) return void server.write(chunk)
      const { cut, happened } = next
      next = undefined
      if (cut === 'late') setTimeout(() => server.end(chunk), LATE)
      if (cut === 'after') server.end(chunk)
      if (cut === 'before') server.destroy()
      server.removeAllListeners('data')
      server.resume()
      client.destroy()
      happened()
    })
  }
  const listening = createServer(pass)
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve))
  return {
    port: (listening.address() as AddressInfo).port,
    cutNext: (words, cut) =>
      new Promise((resolve) => {
        next = { words, cut, happened: resolve }
      }),
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => listening.close(resolve))
    },
  }
}
