import type { AddressInfo } from 'node:net'
import { createServer, connect as dial, type Socket } from 'node:net'
import { atEnd, once } from '../support/cleanup.ts'

/**
 * When to break the connection at a message: before the message reaches the database, after it was sent
 * there, or at once with a late delivery, when the driver may already have looked up the outcome.
 */
export type Cut = 'before' | 'after' | 'late'

export interface Proxy {
  port: number
  /** Breaks the connection at the next message that contains the text. Resolves once that has happened. */
  cutNext(text: string, cut: Cut): Promise<void>
  /** Replaces the text in the next message to the database that contains it by one of the same length. */
  replaceNext(text: string, by: string): void
  /** Resolves once the database has closed the connections that were cut, late messages included. */
  settled(): Promise<void>
  /** Sends new connections to another port, and cuts those before. */
  redirect(port: number): void
  /** Drops everything that arrives from either side, as a network does whose packets are lost. */
  silence(): void
  close(): Promise<void>
}

const LATE_MS = 300

/** A TCP proxy between the driver and the database. */
export const startProxy = async (port: number): Promise<Proxy> => {
  const sockets = new Set<Socket>()
  let target = port
  let isSilent = false
  const cutOff = new Set<Promise<unknown>>()
  let next: { text: string; cut: Cut; happened: () => void } | undefined
  let replacement: { text: string; by: string } | undefined

  const pass = (client: Socket) => {
    const server = dial(target, '127.0.0.1')
    for (const socket of [client, server]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.once('close', () => sockets.delete(socket))
    }
    server.on('data', (chunk) => isSilent || client.write(chunk))
    server.once('close', () => isSilent || client.destroy())
    client.once('end', () => isSilent || server.end())
    client.on('data', (chunk) => {
      if (isSilent) return
      if (replacement !== undefined && chunk.includes(replacement.text)) {
        chunk.write(replacement.by, chunk.indexOf(replacement.text))
        replacement = undefined
      }
      if (next === undefined || !chunk.includes(next.text)) return void server.write(chunk)
      const { cut, happened } = next
      next = undefined
      cutOff.add(new Promise((resolve) => server.once('close', resolve)))
      if (cut === 'late') setTimeout(() => server.end(chunk), LATE_MS)
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
  const close = once(async () => {
    const closed = new Promise((resolve) => listening.close(resolve))
    for (const socket of sockets) socket.destroy()
    await closed
  })
  atEnd(close)
  return {
    port: (listening.address() as AddressInfo).port,
    cutNext: (text, cut) =>
      new Promise((resolve) => {
        next = { text, cut, happened: resolve }
      }),
    replaceNext(text, by) {
      replacement = { text, by }
    },
    async settled() {
      await Promise.all(cutOff)
      cutOff.clear()
    },
    redirect(to) {
      target = to
      for (const socket of sockets) socket.destroy()
    },
    silence() {
      isSilent = true
    },
    close,
  }
}
