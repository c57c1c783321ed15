import { execFile, execFileSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const exec = promisify(execFile)

/** The server and the generator have a processor core each, so that neither takes the time of the other. */
export const SERVER_CORE = 0
const GENERATOR_CORE = 1

const isInstalled = (command: string): boolean => {
  try {
    execFileSync('which', [command], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

const canPin = availableParallelism() > 1 && isInstalled('taskset')

/**
 * The command and arguments that run a command on one core, where the system can. `taskset` becomes the
 * command itself.
 */
export const pinned = (core: number, command: string, args: string[]): [string, string[]] =>
  canPin ? ['taskset', ['-c', String(core), command, ...args]] : [command, args]

export const pinnedGenerator = (command: string, args: string[]) => pinned(GENERATOR_CORE, command, args)

/** Said once, before anything is measured: a generator in JavaScript is slower than the servers. */
export const missingGenerator = (): string | undefined =>
  isInstalled('wrk')
    ? undefined
    : 'wrk is not installed, which sends the requests: install it (Debian and Ubuntu: apt install wrk; macOS: brew install wrk)'

export interface Load {
  /** Where the server is, without a path. */
  base: string
  path: string
  tokens: readonly string[]
  /** In turns, in the place of GET of the path. */
  requests?: readonly { method: 'GET' | 'PUT' | 'DELETE' | 'POST'; path: string; body?: string }[]
  /** 1 when absent. */
  seconds?: number
  connections?: number
}

export interface Loaded {
  /** Requests a second. */
  rate: number
  requests: number
}

export const local = (port: number): string => `http://127.0.0.1:${port}`

/**
 * As many requests as 32 connections get answered.
 * @throws when one of them failed
 */
export const loadWith = async (load: Load): Promise<Loaded> => {
  const script = join(tmpdir(), `allot-bench-${process.pid}.lua`)
  writeFileSync(script, scriptOf(load))
  try {
    const { connections = 32, seconds = 1, base, path } = load
    const words = ['-t1', `-c${connections}`, `-d${seconds}s`, '-s', script, base + path.replace('{n}', '0')]
    const { stdout } = await exec(...pinnedGenerator('wrk', words))
    const { requests, microseconds, failed } = JSON.parse(/^\{.*\}$/m.exec(stdout)![0])
    if (failed > 0) throw new Error(`${path}: ${failed} requests had no answer, or not a 2xx`)
    return { requests, rate: (requests / microseconds) * 1e6 }
  } finally {
    rmSync(script)
  }
}

/** Requests that are formatted before the load begins, and one line of JSON at its end. */
const scriptOf = (load: Load): string =>
  load.path.includes('{n}') ? numberedScript(load) : preparedScript(load)

/** Different requests without end: `{n}` in the path is their number. */
const numberedScript = ({ path, tokens, requests = [] }: Load): string => `local number = 0
local headers = { Authorization = "token ${tokens[0]}", ["Content-Type"] = "application/json" }
request = function()
  number = number + 1
  return wrk.format("${requests[0]!.method}", (string.gsub("${path}", "{n}", number)), headers, ${JSON.stringify(requests[0]!.body)})
end
${DONE}`

const preparedScript = ({ path, tokens, requests = [{ method: 'GET', path }] }: Load): string => {
  const count = Math.max(tokens.length, requests.length)
  const all = Array.from({ length: count }, (_, at) => {
    const { method, path, body } = requests[at % requests.length]!
    const headers = `{ Authorization = "token ${tokens[at % tokens.length]}", ["Content-Type"] = ${body === undefined ? 'nil' : '"application/json"'} }`
    return `  wrk.format("${method}", ${JSON.stringify(path)}, ${headers}, ${body === undefined ? 'nil' : JSON.stringify(body)}),`
  })
  return `local all, at = nil, 0
init = function()
  all = {
${all.join('\n')}
  }
end
request = function()
  at = at % ${count} + 1
  return all[at]
end
${DONE}`
}

const DONE = `done = function(summary)
  local failed = summary.errors
  io.write(string.format('{"requests":%d,"microseconds":%d,"failed":%d}\\n', summary.requests, summary.duration,
    failed.connect + failed.read + failed.write + failed.status + failed.timeout))
end
`

/** Requests a second of GET at 32 connections. */
export const load = async (port: number, path: string, ...tokens: string[]): Promise<number> =>
  (await loadWith({ base: local(port), path, tokens })).rate

const TICKS = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))

/**
 * Seconds of processor time, of the user and of the system, that a process, its children and those that have
 * ended took. A client that is slower than the server cannot hide them.
 */
export const processorTime = (pid: number): number => {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const own = fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean)
  return children.reduce((sum, child) => sum + processorTime(Number(child)), own)
}
