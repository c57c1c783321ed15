import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { AllotError } from '../errors.ts'

/** Without the configuration of the user and the machine: what git does depends only on its arguments. */
export const ENVIRONMENT: Readonly<Record<string, string | undefined>> = {
  PATH: process.env.PATH,
  LC_ALL: 'C',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_SYSTEM: '/dev/null',
  GIT_TERMINAL_PROMPT: '0',
}

const CONFIGURATION = [
  // The repositories may be on a disk that another user owns.
  'safe.directory=*',
  'core.hooksPath=/dev/null',
  // A push that was acknowledged must survive a power failure.
  'core.fsync=objects,derived-metadata,reference',
  'core.fsyncMethod=batch',
  // Garbage collection changes the size on disk, so it runs only where the size is counted.
  'gc.auto=0',
  'maintenance.auto=false',
  // Limits memory: larger files are streamed and stored without deltas.
  'core.bigFileThreshold=16m',
  'core.deltaBaseCacheLimit=32m',
  'pack.deltaCacheSize=32m',
  'pack.windowMemory=32m',
  'pack.threads=2',
]

/** `-c key=value …`, the arguments before the name of git's command. */
export const configuration = (...more: readonly string[]): string[] =>
  [...CONFIGURATION, ...more].flatMap((setting) => ['-c', setting])

const PROTOCOL = /^[\w.=:-]{1,100}$/

/** @param protocol the client's `Git-Protocol` header; ignored when it is malformed */
export const environmentFor = (protocol: string | undefined): Record<string, string | undefined> =>
  protocol !== undefined && PROTOCOL.test(protocol) ? { ...ENVIRONMENT, GIT_PROTOCOL: protocol } : ENVIRONMENT

const TIMEOUT_MS = 60_000

/** How many commands run at once, so that many requests do not start as many processes; the others wait in a queue. */
const CONCURRENCY = 4
let running = 0
const queue: (() => void)[] = []

interface RunOptions {
  /** Standard input. */
  input?: string
  /** 0: no timeout, for work without a bound in size. */
  timeoutMs?: number
}

/**
 * Runs a git command to its end, without a shell.
 * @returns its standard output
 * @throws AllotError unavailable when git is not installed; Error with git's own message when the command fails
 */
export const runGit = async (
  git: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<string> => {
  if (running >= CONCURRENCY) await new Promise<void>((resolve) => queue.push(resolve))
  else running++
  try {
    return await execute(git, args, options)
  } finally {
    const next = queue.shift()
    if (next === undefined) running--
    else next()
  }
}

const executeFile = promisify(execFile)

const execute = async (
  git: string,
  args: readonly string[],
  { input = '', timeoutMs = TIMEOUT_MS }: RunOptions,
): Promise<string> => {
  const execution = executeFile(git, [...configuration(), ...args], {
    ...{ env: ENVIRONMENT, timeout: timeoutMs, maxBuffer: Number.POSITIVE_INFINITY },
  })
  // A git that fails before it has read its input reports that by its exit code.
  execution.child.stdin?.on('error', () => undefined)
  execution.child.stdin?.end(input)
  try {
    return (await execution).stdout
  } catch (cause) {
    throw runError(git, args, cause as ExecutionError)
  }
}

/** The code is a string when the process did not start, else the exit code, or null after a signal. */
type ExecutionError = Error & { code: string | number | null; signal?: string; stderr: string }

const runError = (git: string, args: readonly string[], error: ExecutionError): Error =>
  typeof error.code === 'string'
    ? startError(git, error)
    : new Error(`git ${args[0]} failed with ${error.code ?? error.signal}: ${error.stderr.trim()}`)

/** Explains why a git process did not start. */
export const startError = (git: string, cause: Error): Error =>
  (cause as NodeJS.ErrnoException).code === 'ENOENT'
    ? new AllotError(
        'unavailable',
        `the command ${git} was not found: install git, or turn repositories off with the option repositories = false`,
        { cause },
      )
    : cause
