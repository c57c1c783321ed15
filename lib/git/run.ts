import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { ClientBudget } from '../client-budget.ts'
import { diskFaultOfGit } from '../disk.ts'
import { configuration, ENVIRONMENT, startError } from './process.ts'

const TIMEOUT_MS = 60_000

/** So that many requests do not start as many processes: the others wait. */
const budget = new ClientBudget({
  slots: 4,
  slotsPerClient: 4,
  queue: 10_000,
  queuePerClient: 10_000,
  maxWaitMs: TIMEOUT_MS,
  message: 'too many commands of git are waiting: try again',
})

interface RunOptions {
  /**
   * Milliseconds; 60,000 when absent. A command with another limit takes as long as a repository is large:
   * its caller bounds how many run at once.
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
  const work = () => execute(git, args, options)
  return options.timeoutMs === undefined ? budget.run('git', work) : work()
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
