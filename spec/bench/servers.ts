import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import autocannon from 'autocannon'

export interface Hosted {
  port: number
  /** What the server said of itself when it was ready. */
  // biome-ignore lint/suspicious/noExplicitAny: each kind of server tells something else
  told: any
  stop(): void
}

/** A server in a process of its own, so that the load does not share its event loop; it tells its port as JSON. */
export const host = (kind: string, ...words: string[]): Promise<Hosted> => {
  const file = fileURLToPath(new URL('./served.ts', import.meta.url))
  const child: ChildProcess = spawn(process.execPath, ['--import', 'tsx', file, kind, ...words], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return new Promise((resolve, reject) => {
    child.stdout!.once('data', (chunk: Buffer) => {
      const told = JSON.parse(chunk.toString())
      resolve({ port: told.port, told, stop: () => void child.kill() })
    })
    child.once('close', (code) => reject(new Error(`the server ${kind} ended with ${code}`)))
  })
}

/** Requests a second at 32 connections. */
export const load = async (port: number, path: string, token?: string, seconds = 1): Promise<number> => {
  const result = await autocannon({
    url: `http://127.0.0.1:${port}${path}`,
    connections: 32,
    duration: seconds,
    headers: token === undefined ? {} : { authorization: `token ${token}` },
  })
  if (result.non2xx > 0) throw new Error(`${path}: ${result.non2xx} answers were not 2xx`)
  return result.requests.total / result.duration
}
