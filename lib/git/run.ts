import { spawn } from 'node:child_process'
import { AllotError } from '../errors.ts'

/** Milliseconds after which git is stopped: nothing of a request's takes a second. */
const DEADLINE = 60_000

/** How many run at once; the rest wait, so that a crowd of requests is no crowd of processes. */
const AT_ONCE = 4
let running = 0
const waiting: (() => void)[] = []

/** Nothing of the user's or the machine's configuration: what is made depends on the request alone. */
export const ENVIRONMENT = {
  PATH: process.env.PATH,
  LC_ALL: 'C',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_SYSTEM: '/dev/null',
  GIT_TERMINAL_PROMPT: '0',
}

/**
 * Runs git without a shell.
 * @param deadline milliseconds; 0 for work whose size nobody can bound
 * @throws AllotError unavailable when there is no git; Error with what git said when it fails.
 */
export const runGit = async (
  git: string,
  args: readonly string[],
  input = '',
  deadline = DEADLINE,
): Promise<void> => {
  if (running >= AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve))
  else running++
  try {
    await once(git, args, input, deadline)
  } finally {
    const next = waiting.shift()
    if (next === undefined) running--
    else next()
  }
}

const once = (git: string, args: readonly string[], input: string, deadline: number): Promise<void> =>
  new Promise((resolve, reject) => {
    const child = spawn(git, args, { env: ENVIRONMENT, timeout: deadline, stdio: ['pipe', 'ignore', 'pipe'] })
    let said = ''
    child.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString('utf8')
    })
    child.on('error', (cause) => reject(absent(git, cause)))
    child.on('close', (code) => {
      if (code === 0) resolve()
      else reject(new Error(`git ${args[0]} failed with ${code}: ${said.trim()}`))
    })
    // A child that fails before it has read everything is told of by its exit code.
    child.stdin.on('error', () => undefined)
    child.stdin.end(input)
  })

export const absent = (git: string, cause: Error): Error =>
  (cause as NodeJS.ErrnoException).code === 'ENOENT'
    ? new AllotError(
        'unavailable',
        `the command ${git} was not found: install git, or turn repositories off with the option repositories = false`,
        { cause },
      )
    : cause
