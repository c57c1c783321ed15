import { type ChildProcess, spawn } from 'node:child_process'
import { Agent, get } from 'node:http'
import { fileURLToPath } from 'node:url'
import autocannon from 'autocannon'
import { buildSync } from 'esbuild'

/** An answer for the bare server to give. */
export interface Sample {
  headers: Record<string, string>
  text: string
}

export interface Hosted {
  port: number
  pid: number
  /** What the server said of itself when it was ready. */
  // biome-ignore lint/suspicious/noExplicitAny: each kind of server tells something else
  told: any
  stop(): Promise<void>
}

/** A server in a process of its own, so that the load does not share its event loop; it tells its port as JSON. */
export const host = (kind: string, ...words: string[]): Promise<Hosted> => hostBy('served', kind, ...words)

/** By one of the programs beside this. */
export const hostBy = (program: string, kind: string, ...words: string[]): Promise<Hosted> => {
  const child: ChildProcess = spawn(process.execPath, [put(program), kind, ...words], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
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
    child.once('close', (code) => reject(new Error(`the server ${kind} ended with ${code}`)))
  })
}

const root = fileURLToPath(new URL('../../', import.meta.url))
const together = new Map<string, string>()

/** Puts a program together as what is published is: a loader of TypeScript takes memory of its own. @returns its file */
const put = (program: string): string => {
  const known = together.get(program)
  if (known !== undefined) return known
  const outdir = `${root}dist/bench`
  buildSync({
    entryPoints: { [program]: `${root}spec/bench/${program}.ts`, worker: `${root}lib/markdown/worker.ts` },
    ...{ outdir, bundle: true, splitting: true, packages: 'external', format: 'esm', platform: 'node' },
    logLevel: 'warning',
  })
  const file = `${outdir}/${program}.js`
  together.set(program, file)
  return file
}

/** Requests a second at 32 connections. */
export const load = (port: number, path: string, token: string): Promise<number> =>
  loadAs(port, path, [token])

/** The same, each connection with the next of the tokens. */
export const loadAs = async (port: number, path: string, tokens: readonly string[]): Promise<number> =>
  (await loadWith({ base: local(port), path, tokens })).rate

export const local = (port: number): string => `http://127.0.0.1:${port}`

export interface Load {
  /** Where the server is, without a path. */
  base: string
  path: string
  tokens: readonly string[]
  /** In turns on each connection, in the place of GET of the path. */
  requests?: { method: 'PUT' | 'DELETE' | 'POST'; path: string; body?: string }[]
}

/** A second at 32 connections: requests a second, and milliseconds that half of them and 99 of 100 took at most. */
export const loadWith = async ({ base, path, tokens, requests }: Load) => {
  let connections = 0
  const result = await autocannon({
    url: base + path,
    connections: 32,
    duration: 1,
    setupClient(client) {
      const headers = { authorization: `token ${tokens[connections++ % tokens.length]}` }
      if (requests === undefined) client.setHeaders(headers)
      else client.setRequests(requests.map((one) => ({ ...one, headers: { ...headers, ...JSON_TYPE } })))
    },
  })
  const bad = result.non2xx + result.errors + result.timeouts
  if (bad > 0) throw new Error(`${path}: ${bad} requests had no answer, or not a 2xx`)
  const { p50, p99 } = result.latency
  return { rate: result.requests.total / result.duration, p50, p99 }
}

const JSON_TYPE = { 'content-type': 'application/json' }

const agent = new Agent({ keepAlive: true })

/** One request on a connection that is open already; node:http, as it adds the least to what is measured. */
export const ask = (port: number, path: string, token?: string): Promise<Sample> =>
  new Promise((resolve, reject) => {
    const headers = token === undefined ? {} : { authorization: `token ${token}` }
    get({ host: '127.0.0.1', port, path, agent, headers }, (res) => {
      const chunks: Buffer[] = []
      res.on('data', (chunk: Buffer) => chunks.push(chunk))
      res.once('end', () => {
        const text = Buffer.concat(chunks).toString()
        if (res.statusCode === 200) resolve({ headers: own(res.headers), text })
        else reject(new Error(`${path}: ${res.statusCode} ${text}`))
      })
      res.once('error', reject)
    }).once('error', reject)
  })

/** Without those that node:http adds by itself. */
const own = (headers: NodeJS.Dict<string | string[]>): Record<string, string> => {
  const { date: _date, connection: _connection, 'keep-alive': _keepAlive, ...rest } = headers
  return rest as Record<string, string>
}
