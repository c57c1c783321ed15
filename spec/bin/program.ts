import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const root = fileURLToPath(new URL('../../', import.meta.url))

export interface Outcome {
  code: number | null
  out: string
  err: string
}

/** The command that starts the command line: the built program in ALLOT_PROGRAM, or the source. */
export const PROGRAM: readonly [string, ...string[]] =
  process.env.ALLOT_PROGRAM === undefined
    ? [process.execPath, '--import', import.meta.resolve('tsx'), join(root, 'bin/allot.ts')]
    : [process.execPath, process.env.ALLOT_PROGRAM]

/** Compiles the source as in its folder, whatever the current one is; counts no lines of a built program. */
const ENVIRONMENT: Record<string, string> =
  process.env.ALLOT_PROGRAM === undefined
    ? { TSX_TSCONFIG_PATH: join(root, 'tsconfig.json') }
    : { NODE_V8_COVERAGE: '' }

/**
 * The real command line, in a process of its own.
 * @param wrapper a command that starts it
 */
export const begin = (
  args: readonly string[],
  cwd = root,
  env: Record<string, string> = {},
  wrapper: readonly string[] = [],
): ChildProcess => {
  const [program = '', ...words] = [...wrapper, ...PROGRAM]
  return spawn(program, [...words, ...args], {
    cwd,
    env: { ...process.env, ...ENVIRONMENT, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
}

/** It runs to its end, with the input on its standard input. */
export const allot = (
  args: readonly string[],
  cwd = root,
  { input, env }: { input?: Uint8Array; env?: Record<string, string> } = {},
): Promise<Outcome> => {
  const child = begin(args, cwd, env)
  // A program that does not read all of its input may end before the input is written.
  child.stdin!.on('error', () => undefined)
  child.stdin!.end(input ?? '')
  const outcome = { code: null as number | null, out: '', err: '' }
  child.stdout!.on('data', (chunk: Buffer) => {
    outcome.out += chunk.toString()
  })
  child.stderr!.on('data', (chunk: Buffer) => {
    outcome.err += chunk.toString()
  })
  return new Promise((resolve) => child.on('close', (code) => resolve({ ...outcome, code })))
}

export interface CommandLine {
  args: readonly string[]
  /** Besides the environment of this process. */
  env: Record<string, string>
}

/** Runs command lines one after another in one process: its start takes longer than most of them. */
export const several = async (lines: readonly CommandLine[], cwd = root): Promise<Outcome[]> => {
  const file = fileURLToPath(new URL('several.ts', import.meta.url))
  const args = ['--import', import.meta.resolve('tsx'), file, JSON.stringify(lines)]
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd })
  return JSON.parse(stdout) as Outcome[]
}

export interface Served {
  /** Such as http://127.0.0.1:40001/api/v1 */
  api: string
  child: ChildProcess
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
  whenServing(spawn('npm', ['start', '--', '--port', '0', ...args], { cwd: root, stdio: 'pipe' }))

/** A server ends within 10 seconds, and on a machine that is busy with others long before this. */
const STOP_LIMIT_MS = 300_000

export const whenServing = (child: ChildProcess): Promise<Served> => {
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
        const limit = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS)
        return ended.finally(() => clearTimeout(limit))
      }
      resolve({ api, child, printed: () => text, stop })
    }
    child.stdout!.on('data', hear)
    child.stderr!.on('data', hear)
    void ended.then((code) => reject(new Error(`the server ended with ${code}: ${text}`)))
  })
}
