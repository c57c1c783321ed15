import { text } from 'node:stream/consumers'
import { ClientBudget } from '../client-budget.ts'
import { diskFaultOfGit } from '../disk.ts'
import { configuration, ENVIRONMENT, type ExitResult, startProcess } from './process.ts'

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
  /** Added to git's configuration. */
  readonly config?: readonly string[]
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Milliseconds; absent: no deadline. */
  readonly timeoutMs?: number
}

/**
 * Runs a git command to its end, whatever that is, without a shell.
 * @throws AllotError unavailable when git is not installed
 */
export const resultOf = async (
  git: string,
  args: readonly string[],
  { config = [], env = ENVIRONMENT, timeoutMs }: RunOptions = {},
): Promise<ExitResult & { readonly output: string }> => {
  const options = { git, env, timeout: timeoutMs, isDetached: true }
  const child = await startProcess([...configuration(...config), ...args], options)
  child.stdin.end()
  const output = await text(child.stdout)
  return { output, ...(await child.ended) }
}

/**
 * Runs a git command.
 * @param options.timeoutMs milliseconds; 60,000 when absent. A command with another limit takes as long as a
 * repository is large: its caller bounds how many run at once
 * @returns its standard output
 * @throws AllotError unavailable when git is not installed or the disk cannot be used, storage_full; Error
 * with git's own message when the command fails
 */
export const runGit = async (
  git: string,
  args: readonly string[],
  { timeoutMs }: Pick<RunOptions, 'timeoutMs'> = {},
): Promise<string> => {
  const work = () => resultOf(git, args, { timeoutMs: timeoutMs ?? TIMEOUT_MS })
  const { code, cause, output, stderr } = await (timeoutMs === undefined ? budget.run('git', work) : work())
  if (code === 0) return output
  const error = new Error(`git ${args[0]} failed with ${code ?? cause}: ${stderr}`)
  throw diskFaultOfGit(error) ?? error
}
