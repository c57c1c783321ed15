import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { diskFaultOfGit } from '../disk.ts'
import { configuration, ENVIRONMENT, startError } from './process.ts'

const TIMEOUT_MS = 60_000

/**
 * How many commands run at once, so that many requests do not start as many processes; the others wait in a
 * queue.
 */
class CommandQueue {
  #running = 0
  readonly #waiting: (() => void)[] = []

  async run<T>(command: () => Promise<T>): Promise<T> {
    if (this.#running >= CONCURRENCY) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    else this.#running++
    try {
      return await command()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#running--
      else next()
    }
  }
}

const CONCURRENCY = 4

/**
 * Copies of large repositories have a queue of their own: the short commands of other clients' pushes never
 * wait for them.
 */
const queues = { short: new CommandQueue(), long: new CommandQueue() }

interface RunOptions {
  /**
   * Milliseconds; 60,000 when absent. A command with another limit takes as long as a repository is large,
   * and waits with its like.
   */
  timeoutMs?: number
}

/**
 * Runs a git command to its end, without a shell.
 * @returns its standard output
 * @throws AllotError unavailable when git is not installed or the disk cannot be used, storage_full; Error
 * with git's own message when the command fails
 */
export const runGit = (git: string, args: readonly string[], options: RunOptions = {}): Promise<string> => {
  const queue = options.timeoutMs === undefined ? queues.short : queues.long
  return queue.run(() => execute(git, args, options))
}

const executeFile = promisify(execFile)

const execute = async (
  git: string,
  args: readonly string[],
  { timeoutMs = TIMEOUT_MS }: RunOptions,
): Promise<string> => {
  const limits = { timeout: timeoutMs, maxBuffer: Number.POSITIVE_INFINITY }
  const execution = executeFile(git, [...configuration(), ...args], { env: ENVIRONMENT, ...limits })
  execution.child.stdin?.end()
  try {
    return (await execution).stdout
  } catch (cause) {
    const error = runError(git, args, cause as ExecutionError)
    throw diskFaultOfGit(error) ?? error
  }
}

/** The code is a string when the process did not start, else the exit code, or null after a signal. */
type ExecutionError = Error & { code: string | number | null; signal?: string; stderr: string }

const runError = (git: string, args: readonly string[], error: ExecutionError): Error =>
  typeof error.code === 'string'
    ? startError(git, error)
    : new Error(`git ${args[0]} failed with ${error.code ?? error.signal}: ${error.stderr.trim()}`)
