import { execFile, spawn } from 'node:child_process'
import { promisify } from 'node:util'
import { buildProgram, startOptions } from '../../../support/build.ts'
import type { Latency } from '../report/measure.ts'
import { built, type Hosted } from './index.ts'
import { local, pinned, pinnedGenerator, SERVER_CORE } from './load.ts'

export const API = '/api/v1'

/** A server with the token of its administrator `root`. */
export interface Program extends Hosted {
  token: string
}

/** The server that `npm start` runs, on an empty store, or on one whose token is known. */
export const program = (
  data: string,
  { isPinned = true, known = '' }: { isPinned?: boolean; known?: string } = {},
): Promise<Program> => {
  const args = [...startOptions(), buildProgram(), 'serve', '--port', '0', '--data', data]
  const command = isPinned ? pinned(SERVER_CORE, process.execPath, args) : ([process.execPath, args] as const)
  const child = spawn(...command, { stdio: ['ignore', 'pipe', 'inherit'] })
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const stop = () => {
    child.kill()
    return closed
  }
  let printed = ''
  return new Promise((resolve, reject) => {
    child.once('close', (code) => reject(new Error(`allot serve ended with ${code}`)))
    child.stdout!.on('data', (chunk: Buffer) => {
      printed += chunk.toString()
      const port = /http:\/\/127\.0\.0\.1:(\d+)/.exec(printed)?.[1]
      const token = known || /^ {2}([0-9a-f]{40})$/m.exec(printed)?.[1]
      if (port && token) resolve({ port: Number(port), pid: child.pid!, told: { token }, token, stop })
    })
  })
}

/** Creates something as the administrator, or as another user. */
export const post = async (
  { port, token }: Program,
  path: string,
  body: object,
  sudo = 'root',
): Promise<void> => {
  const headers = { authorization: `token ${token}`, 'content-type': 'application/json', sudo }
  const text = JSON.stringify(body)
  const made = await fetch(local(port) + API + path, { method: 'POST', headers, body: text })
  if (made.status !== 201) throw new Error(`POST ${path}: ${made.status} ${await made.text()}`)
}

const SECONDS = 3
const exec = promisify(execFile)

/** Latencies at a rate that the server can serve, where they are not those of a queue. */
export const latencyAt = async (
  { port }: Hosted,
  path: string,
  token: string,
  rate: number,
): Promise<Latency> => {
  const words = [port, API + path, token, Math.round(rate), SECONDS].map(String)
  const { stdout } = await exec(...pinnedGenerator(process.execPath, [built('servers/steady'), ...words]))
  return { rate, ...(JSON.parse(stdout) as Latency) }
}
