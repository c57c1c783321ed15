import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { killGroup, outcome, spawnChild } from '../support/child.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

export interface Outcome {
  code: number | null
  out: string
  err: string
}

/** The command that starts the command line: the built program in ALLOT_SPEC_PROGRAM, or the source. */
export const PROGRAM: readonly [string, ...string[]] =
  process.env.ALLOT_SPEC_PROGRAM === undefined
    ? [process.execPath, '--import', import.meta.resolve('tsx'), join(root, 'bin/allot.ts')]
    : [process.execPath, process.env.ALLOT_SPEC_PROGRAM]

/** Compiles the source as in its folder, whatever the current one is; counts no lines of a built program. */
const ENVIRONMENT: Record<string, string> =
  process.env.ALLOT_SPEC_PROGRAM === undefined
    ? { TSX_TSCONFIG_PATH: join(root, 'tsconfig.json') }
    : { NODE_V8_COVERAGE: '' }

/** Servers of tools run for long. */
const CHILD_MS = 3_600_000

/**
 * The real command line, in a process of its own.
 * @param wrapper a command that starts it
 */
export const begin = (
  args: readonly string[],
  cwd = root,
  env: Record<string, string> = {},
  wrapper: readonly string[] = [],
): ChildProcessWithoutNullStreams => {
  const [program = '', ...words] = [...wrapper, ...PROGRAM]
  const environment = { ...process.env, ...ENVIRONMENT, ...env }
  return spawnChild(program, [...words, ...args], { cwd, env: environment, timeout: CHILD_MS })
}

export interface AllotOptions {
  /** For its standard input. */
  input?: Uint8Array
  /** Besides the environment of this process. */
  env?: Record<string, string>
}

/** Runs to its end. */
export const allot = async (
  args: readonly string[],
  cwd = root,
  { input = new Uint8Array(), env }: AllotOptions = {},
): Promise<Outcome> => {
  const [program, ...words] = [...PROGRAM, ...args]
  const environment = { ...process.env, ...ENVIRONMENT, ...env }
  const { code, stdout, stderr } = await outcome(program, words, { cwd, env: environment, input })
  return { code, out: stdout, err: stderr }
}

export interface CommandLine {
  args: readonly string[]
  /** Besides the environment of this process. */
  env: Record<string, string>
}

/** Runs command lines one after another in this process, as `in-process.ts` does. */
export const several = async (lines: readonly CommandLine[], cwd = root): Promise<Outcome[]> => {
  const { allot } = await import('./in-process.ts')
  const outcomes: Outcome[] = []
  for (const { args, env } of lines) outcomes.push(await allot(args, cwd, { env }))
  return outcomes
}

export interface Served {
  /** Such as http://127.0.0.1:40001/api/v1 */
  api: string
  child: ChildProcessWithoutNullStreams
  /** All that was printed so far. */
  printed(): string
  /** Sends the signal and waits for the end. The code of a server that does not end is null. */
  stop(signal?: NodeJS.Signals): Promise<number | null>
}

/** A server on a free port, when it serves. */
export const served = (args: readonly string[], cwd = root): Promise<Served> =>
  whenServing(begin(['serve', '--port', '0', ...args], cwd))

/** The server that `npm start` runs, on a free port, when it serves. */
export const npmStart = (args: readonly string[]): Promise<Served> =>
  whenServing(spawnChild('npm', ['start', '--', '--port', '0', ...args], { cwd: root }))

/** A server ends within 10 seconds, and on a machine that is busy with others long before this. */
const STOP_LIMIT_MS = 60_000

/** Waits until a server serves. It is killed at the end of the file. */
export const whenServing = (child: ChildProcessWithoutNullStreams): Promise<Served> => {
  let text = ''
  let isServing = false
  const ended = new Promise<number | null>((resolve) => child.on('close', (code) => resolve(code)))
  return new Promise((resolve, reject) => {
    const hear = (chunk: Buffer) => {
      text += chunk.toString()
      if (isServing) return
      const [, api] = /serves (https?:\S+)/.exec(text) ?? []
      if (api === undefined) return
      isServing = true
      const stop = (signal: NodeJS.Signals = 'SIGTERM') => {
        child.kill(signal)
        const limit = setTimeout(() => killGroup(child), STOP_LIMIT_MS)
        return ended.finally(() => clearTimeout(limit))
      }
      resolve({ api, child, printed: () => text, stop })
    }
    child.stdout.on('data', hear)
    child.stderr.on('data', hear)
    void ended.then((code) => reject(new Error(`the server ended with ${code}: ${text}`)))
  })
}
