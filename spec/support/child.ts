import {
  type ChildProcess,
  type ChildProcessWithoutNullStreams,
  type SpawnOptionsWithoutStdio,
  type SpawnSyncOptions,
  type SpawnSyncReturns,
  spawn,
  spawnSync,
} from 'node:child_process'
import { atEnd } from './cleanup.ts'

/*
 * All processes of specs are started here: each has a deadline, is the first of a group of its own, which is
 * killed with it, and never has the pipes of the runner, which would wait for them.
 */

/** How long a command may run. */
const COMMAND_MS = 60_000

/** How long a process may run beside a spec. */
const CHILD_MS = 300_000

export interface Output {
  /** Null after a signal. */
  code: number | null
  stdout: string
  stderr: string
}

/** Kills a process and all that it has started. */
export const killGroup = (child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): void => {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, signal)
  } catch {
    // The group has ended.
    child.kill(signal)
  }
}

/**
 * Starts a process that runs beside the spec. It is killed at the end of the file, and after `timeout`
 * milliseconds.
 */
export const spawnChild = (
  command: string,
  args: readonly string[],
  { timeout = CHILD_MS, ...options }: SpawnOptionsWithoutStdio = {},
): ChildProcessWithoutNullStreams => {
  const child = spawn(command, args, { ...options, stdio: 'pipe', detached: true })
  const timer = setTimeout(() => killGroup(child), timeout).unref()
  const withdraw = atEnd(() => killGroup(child))
  child.once('close', () => {
    clearTimeout(timer)
    withdraw()
  })
  // A process that ends before it has read its input is seen by its exit code.
  child.stdin.on('error', () => undefined)
  return child
}

/**
 * Waits for output of a process that matches.
 * @throws Error with what the process printed, when it ends before or prints nothing that matches in time
 */
export const printed = (
  child: ChildProcessWithoutNullStreams,
  pattern: RegExp,
  timeout = COMMAND_MS,
): Promise<RegExpExecArray> =>
  new Promise((resolve, reject) => {
    let text = ''
    const end = (settle: () => void) => {
      clearTimeout(timer)
      child.stdout.off('data', hear)
      child.stderr.off('data', hear)
      child.off('close', closed)
      child.off('error', failed)
      settle()
    }
    const hear = (chunk: Buffer) => {
      text += chunk.toString()
      const match = pattern.exec(text)
      if (match !== null) end(() => resolve(match))
    }
    const fail = (reason: string) =>
      end(() => reject(new Error(`${child.spawnfile} ${reason} before it printed ${pattern}: ${text}`)))
    const closed = (code: number | null) => fail(`ended with ${code}`)
    const failed = (error: Error) => fail(`failed (${error.message})`)
    const timer = setTimeout(() => fail(`ran ${timeout} ms`), timeout)
    child.stdout.on('data', hear)
    child.stderr.on('data', hear)
    child.once('close', closed)
    child.once('error', failed)
  })

/** Waits until a process has ended and closed its output, and returns it. */
export const output = (child: ChildProcessWithoutNullStreams): Promise<Output> =>
  new Promise((resolve, reject) => {
    const result = { stdout: '', stderr: '' }
    child.stdout.on('data', (chunk: Buffer) => {
      result.stdout += chunk.toString()
    })
    child.stderr.on('data', (chunk: Buffer) => {
      result.stderr += chunk.toString()
    })
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, ...result }))
  })

export interface CommandOptions extends SpawnOptionsWithoutStdio {
  /** For its standard input. */
  input?: string | Uint8Array
}

/** Runs a command to its end, whatever its exit code is. */
export const outcome = (
  command: string,
  args: readonly string[],
  { input = '', timeout = COMMAND_MS, ...options }: CommandOptions = {},
): Promise<Output> => {
  const child = spawnChild(command, args, { ...options, timeout })
  child.stdin.end(input)
  return output(child)
}

/**
 * Runs a command.
 * @throws Error with its output when its exit code is not 0, or when it does not end in time
 */
export const run = async (
  command: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<Output> => {
  const result = await outcome(command, args, options)
  if (result.code === 0) return result
  const { code, stdout, stderr } = result
  throw Object.assign(
    new Error(`${command} ${args.join(' ')} ended with ${code}: ${stderr}${stdout}`),
    result,
  )
}

/** Runs a command while this process waits: the result of `spawnSync`, with texts. */
export const outcomeSync = (
  command: string,
  args: readonly string[],
  options: Omit<SpawnSyncOptions, 'encoding'> = {},
): SpawnSyncReturns<string> =>
  spawnSync(command, args, {
    ...{ maxBuffer: 64 * 1024 * 1024, timeout: COMMAND_MS, killSignal: 'SIGKILL', stdio: 'pipe', ...options },
    encoding: 'utf8',
  })

/**
 * Runs a command while this process waits.
 * @returns its standard output
 * @throws Error with its output when its exit code is not 0, or when it does not end in time
 */
export const runSync = (
  command: string,
  args: readonly string[],
  options: Omit<SpawnSyncOptions, 'encoding'> = {},
): string => {
  const { status, signal, stdout, stderr, error } = outcomeSync(command, args, options)
  if (error !== undefined) throw error
  if (status !== 0)
    throw new Error(`${command} ${args.join(' ')} ended with ${status ?? signal}: ${stdout}${stderr}`)
  return stdout
}
