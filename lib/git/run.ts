import { spawn } from 'node:child_process'
import { AllotError } from '../errors.ts'
import { configured, ENVIRONMENT } from './environment.ts'

/** Milliseconds after which git is stopped: nothing of a request's takes a second. */
const DEADLINE = 60_000

/** How many run at once; the rest wait, so that a crowd of requests is no crowd of processes. */
const CONCURRENCY = 4
let running = 0
const waiting: (() => void)[] = []

/**
 * Runs git without a shell.
 * @param deadline milliseconds; 0 for work whose size nobody can bound
 * @returns what it wrote
 * @throws AllotError unavailable when there is no git; Error with what git said when it fails.
 */
export const runGit = async (
  git: string,
  args: readonly string[],
  input = '',
  deadline = DEADLINE,
): Promise<string> => {
  if (running >= CONCURRENCY) await new Promise<void>((resolve) => waiting.push(resolve))
  else running++
  try {
    return await once(git, args, input, deadline)
  } finally {
    const next = waiting.shift()
    if (next === undefined) running--
    else next()
  }
}

const once = (git: string, args: readonly string[], input: string, deadline: number): Promise<string> =>
  new Promise((resolve, reject) => {
    const child = spawn(git, [...configured(), ...args], {
      env: ENVIRONMENT,
      timeout: deadline,
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    let [wrote, said] = ['', '']
    child.stdout.on('data', (chunk: Buffer) => {
      wrote += chunk.toString('utf8')
    })
    child.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString('utf8')
    })
    child.on('error', (cause) => reject(absent(git, cause)))
    child.on('close', (code) => {
      if (code === 0) resolve(wrote)
      else reject(new Error(`git ${args[0]} failed with ${code}: ${said.trim()}`))
    })
    // A child that fails before it has read everything is told of by its exit code.
    child.stdin.on('error', () => undefined)
    child.stdin.end(input)
  })

/** What a start that failed means. */
export const absent = (git: string, cause: Error): Error =>
  (cause as NodeJS.ErrnoException).code === 'ENOENT'
    ? new AllotError(
        'unavailable',
        `the command ${git} was not found: install git, or turn repositories off with the option repositories = false`,
        { cause },
      )
    : cause
