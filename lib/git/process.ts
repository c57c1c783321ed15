import { type ChildProcess, spawn } from 'node:child_process'
import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { delimiter, join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { lowerPriorityOf } from '../low-priority.ts'
import { absent } from './run.ts'

/**
 * A command that runs git with a limit on its memory, which everything that git starts inherits. The limit is on data
 * (`ulimit -d`) and not on the address space, because git maps whole packs into it.
 * @param bytes of memory for each process; undefined: no limit
 * @throws AllotError unavailable when git is not installed: the shell that sets the limit would only say so to a person.
 */
export const withMemoryLimit = async (
  git: string,
  args: readonly string[],
  bytes: number | undefined,
): Promise<[command: string, args: readonly string[]]> => {
  if (bytes === undefined || process.platform === 'win32') return [git, args]
  await refuseMissing(git)
  return ['/bin/sh', ['-c', LIMITED, String(Math.ceil(bytes / 1024)), git, ...args]]
}

/** The arguments are never part of the script. Where a lower limit holds already, that one stays. */
const LIMITED = 'ulimit -d "$0" 2>/dev/null; exec "$@"'

const refuseMissing = async (git: string): Promise<void> => {
  const folders = git.includes('/') ? [''] : (process.env.PATH ?? '').split(delimiter)
  for (const folder of folders) if (await access(join(folder, git), constants.X_OK).then(yes, no)) return
  throw absent(git, Object.assign(new Error(`${git} was not found`), { code: 'ENOENT' }))
}

const yes = () => true
const no = () => false

/** Milliseconds. */
export interface Timeouts {
  /** Without a byte in either direction. */
  idle: number
  /** In all. */
  deadline: number
}

/** How git ended. */
export interface ExitResult {
  /** Null when it was stopped. */
  readonly code: number | null
  /** What it wrote to standard error, shortened. */
  readonly stderr: string
  readonly cause: 'itself' | 'stopped' | 'idle' | 'deadline'
}

/** One git that speaks with one client. */
export interface GitProcess {
  readonly pid: number
  readonly stdin: Writable
  readonly stdout: Readable
  readonly ended: Promise<ExitResult>
  /** Asks git to end, which then takes back what it has not finished, and makes it end if it does not. */
  stop(cause?: ExitResult['cause']): void
}

/** Pipes are sockets to Node, and count what went through. */
type Spoken = ChildProcess & { stdin: Socket; stdout: Socket; stderr: Socket }

/** Milliseconds that git has to clean up. */
const GRACE = 5000
const MAX_LENGTH = 4096

export interface ProcessOptions {
  git: string
  env: Record<string, string | undefined>
  timeouts: Timeouts
  /** Bytes of memory for each process; undefined: no limit. */
  memory?: number | undefined
  /**
   * In a group of its own: it ends with all that it has started, and no Ctrl-C meant for the server reaches it. Linux then
   * schedules it as a stranger, though, and on a busy machine a clone takes twice as long.
   */
  isDetached: boolean
}

/** @throws AllotError unavailable when there is no git. */
export const startProcess = async (
  args: readonly string[],
  { git, env, timeouts, memory, isDetached }: ProcessOptions,
): Promise<GitProcess> => {
  const [command, words] = await withMemoryLimit(git, args, memory)
  const child = spawn(command, words, { env, detached: isDetached, stdio: 'pipe' }) as Spoken
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', (cause) => reject(absent(git, cause)))
  })
  lowerPriorityOf(child.pid!)
  let cause: ExitResult['cause'] = 'itself'
  const said = gathered(child.stderr)

  const end = (name: NodeJS.Signals) => (isDetached ? signalGroup(child, name) : void child.kill(name))
  const stop: GitProcess['stop'] = (why = 'stopped') => {
    if (cause !== 'itself' || child.exitCode !== null || child.signalCode !== null) return
    cause = why
    end('SIGTERM')
    const insist = setTimeout(() => end('SIGKILL'), GRACE)
    child.once('exit', () => clearTimeout(insist))
  }
  const idle = whenIdle(
    () => child.stdout.bytesRead + child.stdin.bytesWritten,
    timeouts.idle,
    () => stop('idle'),
  )
  const deadline = setTimeout(() => stop('deadline'), timeouts.deadline)
  const ended = new Promise<ExitResult>((resolve) => {
    child.once('exit', (code) => {
      clearInterval(idle)
      clearTimeout(deadline)
      resolve({ code, stderr: said().trim(), cause })
    })
  })
  // A git that ends before it has read everything is told of by its exit code.
  child.stdin.on('error', () => undefined)
  return { pid: child.pid!, stdin: child.stdin, stdout: child.stdout, ended, stop }
}

/** Looks now and then whether anything moved: nothing is done for each byte. */
const whenIdle = (moved: () => number, timeoutMs: number, act: () => void): NodeJS.Timeout => {
  let [last, since] = [moved(), performance.now()]
  return setInterval(() => {
    const now = moved()
    if (now !== last) [last, since] = [now, performance.now()]
    else if (performance.now() - since >= timeoutMs) act()
  }, timeoutMs / 4)
}

const gathered = (stream: Readable): (() => string) => {
  let text = ''
  stream.on('data', (chunk: Buffer) => {
    if (text.length < MAX_LENGTH) text += chunk.toString('utf8').slice(0, MAX_LENGTH)
  })
  return () => text
}

const signalGroup = (child: ChildProcess, name: NodeJS.Signals): void => {
  try {
    process.kill(-child.pid!, name)
  } catch {
    child.kill(name)
  }
}

/** Backpressure goes both ways; what git does not read any more is let go, so that the client hears the answer. */
export const feed = (body: Readable, { stdin, stop }: GitProcess): void => {
  body.pipe(stdin)
  stdin.once('error', () => {
    body.unpipe(stdin)
    body.resume()
  })
  body.once('error', () => stop())
  body.once('close', () => body.readableEnded || stop())
}
