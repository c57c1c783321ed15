import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { Agent, request } from 'node:http'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'
import { pinned, SERVER_CORE } from './load.ts'

/** An answer for the bare server to give. */
export interface Sample {
  headers: Record<string, string>
  text: string
}

export interface Hosted {
  port: number
  pid: number
  /** The message of the server when it was ready. */
  // biome-ignore lint/suspicious/noExplicitAny: each kind of server tells something else
  told: any
  stop(): Promise<void>
}

/**
 * A server in a process of its own, so that the load does not share its event loop; it tells its port as
 * JSON.
 */
export const host = (kind: string, ...words: string[]): Promise<Hosted> =>
  hostBy('servers/served', kind, ...words)

/** The same on all processor cores, beside a server that has all of them. */
export const hostOnAllCores = (kind: string, ...words: string[]): Promise<Hosted> =>
  hosted(spawn(process.execPath, [built('servers/served'), kind, ...words], STDIO))

/** By a program of this folder. */
export const hostBy = (program: string, kind: string, ...words: string[]): Promise<Hosted> =>
  hosted(spawn(...pinned(SERVER_CORE, process.execPath, [built(program), kind, ...words]), STDIO))

const STDIO: SpawnOptions = { stdio: ['pipe', 'pipe', 'inherit'] }

const hosted = (child: ChildProcess): Promise<Hosted> => {
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const stop = () => {
    child.kill()
    return closed
  }
  return new Promise((resolve, reject) => {
    child.stdout!.once('data', (chunk: Buffer) => {
      const told = JSON.parse(chunk.toString())
      resolve({ port: told.port, pid: child.pid!, told, stop })
    })
    child.once('close', (code) =>
      reject(new Error(`the server ${child.spawnargs.at(-1)} ended with ${code}`)),
    )
  })
}

const root = fileURLToPath(new URL('../../../../', import.meta.url))
const together = new Map<string, string>()

/**
 * Puts a program together as what is published is: a loader of TypeScript takes memory of its own.
 * @returns its file
 */
export const built = (program: string): string => {
  const known = together.get(program)
  if (known !== undefined) return known
  const outdir = `${root}dist/bench`
  const name = basename(program)
  buildSync({
    entryPoints: {
      [name]: `${root}spec/tools/bench/${program}.ts`,
      worker: `${root}lib/markdown/worker.ts`,
    },
    ...{ outdir, bundle: true, splitting: true, packages: 'external', format: 'esm', platform: 'node' },
    logLevel: 'warning',
  })
  const file = `${outdir}/${name}.js`
  together.set(program, file)
  return file
}

const agent = new Agent({ keepAlive: true })

/** One request on a connection that is open already; node:http, as it adds the least to what is measured. */
export const ask = (port: number, path: string, token?: string, method = 'GET'): Promise<Sample> =>
  new Promise((resolve, reject) => {
    const headers = token === undefined ? {} : { authorization: `token ${token}` }
    const sent = request({ host: '127.0.0.1', port, path, agent, headers, method }, (res) => {
      const chunks: Buffer[] = []
      res.on('data', (chunk: Buffer) => chunks.push(chunk))
      res.once('end', () => {
        const text = Buffer.concat(chunks).toString()
        if (res.statusCode === 200 || res.statusCode === 204) resolve({ headers: own(res.headers), text })
        else reject(new Error(`${method} ${path}: ${res.statusCode} ${text}`))
      })
      res.once('error', reject)
    })
    sent.once('error', reject).end()
  })

/** Without those that node:http adds by itself. */
const own = (headers: NodeJS.Dict<string | string[]>): Record<string, string> => {
  const { date: _date, connection: _connection, 'keep-alive': _keepAlive, ...rest } = headers
  return rest as Record<string, string>
}
