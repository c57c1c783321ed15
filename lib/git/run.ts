import { spawn } from 'node:child_process'
import { AllotError } from '../errors.ts'

/** Nothing of the user's or the machine's configuration: what git does depends on what it is asked for alone. */
export const ENVIRONMENT: Readonly<Record<string, string | undefined>> = {
  PATH: process.env.PATH,
  LC_ALL: 'C',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_SYSTEM: '/dev/null',
  GIT_TERMINAL_PROMPT: '0',
}

/** Everywhere: the folders are this server's own whoever owns the disk, no hook of a template runs, and what is acknowledged is on the disk. */
const ALWAYS = [
  'safe.directory=*',
  'core.hooksPath=/dev/null',
  'core.fsync=objects,derived-metadata,reference',
  'core.fsyncMethod=batch',
  // Tidying changes what lies on the disk, so it is done where it is counted.
  'gc.auto=0',
  'maintenance.auto=false',
  // What git holds in memory at a time. Larger files are passed through, and are kept without deltas.
  'core.bigFileThreshold=16m',
  'core.deltaBaseCacheLimit=32m',
  'pack.deltaCacheSize=32m',
  'pack.windowMemory=32m',
  'pack.threads=2',
]

/** `-c key=value …`, before the name of git's command. */
export const configured = (...more: readonly string[]): string[] =>
  [...ALWAYS, ...more].flatMap((one) => ['-c', one])

const PROTOCOL = /^[\w.=:-]{1,100}$/

/** @param protocol what the client's `Git-Protocol` header says; whatever git could not mean is left out. */
export const environmentFor = (protocol: string | undefined): Record<string, string | undefined> =>
  protocol !== undefined && PROTOCOL.test(protocol) ? { ...ENVIRONMENT, GIT_PROTOCOL: protocol } : ENVIRONMENT

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
