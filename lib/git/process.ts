import { type ChildProcess, spawn } from 'node:child_process'
import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { delimiter, join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { lowerPriorityOf } from '../low-priority.ts'
import { startError } from './run.ts'

export interface Timeouts {
  /** Without a byte in either direction. */
  idleMs: number
  /** For the whole run. */
  deadlineMs: number
}

/** How a process ended. */
export interface ExitResult {
  /** Null after a signal. */
  readonly code: number | null
  /** Standard error, at most 4 KiB of it. */
  readonly stderr: string
  /** `itself` unless `stop` was called. */
  readonly cause: 'itself' | 'stopped' | 'idle' | 'deadline'
}

/** A running git, with timeouts and a limit on its memory. */
export interface GitProcess {
  readonly pid: number
  readonly stdin: Writable
  readonly stdout: Readable
  readonly ended: Promise<ExitResult>
  /** Sends SIGTERM, so that git removes its temporary files, and SIGKILL after 5 seconds. */
  stop(cause?: ExitResult['cause']): void
}

interface ProcessOptions {
  git: string
  env: Record<string, string | undefined>
  timeouts: Timeouts
  /** Bytes for each process; undefined: no limit. */
  memory?: number | undefined
  /**
   * Runs git in a process group of its own, which is stopped as a whole and gets no Ctrl-C meant for the server. Not for
   * fetches: Linux schedules groups against each other, and on a busy machine a clone then takes twice as long.
   */
  isDetached: boolean
}

/** Node's pipes are sockets, which count their bytes. */
type PipedProcess = ChildProcess & { stdin: Socket; stdout: Socket; stderr: Socket }

const GRACE_MS = 5000
const MAX_STDERR = 4096

/** @throws AllotError unavailable when git is not installed */
export const startProcess = async (
  args: readonly string[],
  { git, env, timeouts, memory, isDetached }: ProcessOptions,
): Promise<GitProcess> => {
  const [command, commandArgs] = await withMemoryLimit(git, args, memory)
  const child = spawn(command, commandArgs, { env, detached: isDetached, stdio: 'pipe' }) as PipedProcess
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', (cause) => reject(startError(git, cause)))
  })
  lowerPriorityOf(child.pid!)
  // A git that ends before it has read its input reports that by its exit code.
  child.stdin.on('error', () => undefined)
  const { stop, cause } = stopper(child, isDetached)
  const clear = watchTimeouts(child, timeouts, stop)
  const stderr = collectText(child.stderr)
  const ended = new Promise<ExitResult>((resolve) => {
    child.once('exit', (code) => {
      clear()
      resolve({ code, stderr: stderr().trim(), cause: cause() })
    })
  })
  return { pid: child.pid!, stdin: child.stdin, stdout: child.stdout, ended, stop }
}

const stopper = (child: ChildProcess, isDetached: boolean) => {
  let cause: ExitResult['cause'] = 'itself'
  const send = (signal: NodeJS.Signals) => (isDetached ? signalGroup(child, signal) : void child.kill(signal))
  const stop: GitProcess['stop'] = (why = 'stopped') => {
    if (cause !== 'itself' || child.exitCode !== null || child.signalCode !== null) return
    cause = why
    send('SIGTERM')
    const kill = setTimeout(() => send('SIGKILL'), GRACE_MS)
    child.once('exit', () => clearTimeout(kill))
  }
  return { stop, cause: () => cause }
}

const signalGroup = (child: ChildProcess, signal: NodeJS.Signals): void => {
  try {
    process.kill(-child.pid!, signal)
  } catch {
    child.kill(signal)
  }
}

/** Polls the byte counts, which costs nothing per byte. @returns ends the watch */
const watchTimeouts = (
  { stdin, stdout }: PipedProcess,
  { idleMs, deadlineMs }: Timeouts,
  stop: GitProcess['stop'],
) => {
  const transferred = () => stdout.bytesRead + stdin.bytesWritten
  let [last, since] = [transferred(), performance.now()]
  const poll = setInterval(() => {
    const current = transferred()
    if (current !== last) [last, since] = [current, performance.now()]
    else if (performance.now() - since >= idleMs) stop('idle')
  }, idleMs / 4)
  const deadline = setTimeout(() => stop('deadline'), deadlineMs)
  return () => {
    clearInterval(poll)
    clearTimeout(deadline)
  }
}

const collectText = (stream: Readable): (() => string) => {
  let text = ''
  stream.on('data', (chunk: Buffer) => {
    if (text.length < MAX_STDERR) text += chunk.toString('utf8').slice(0, MAX_STDERR)
  })
  return () => text
}

/** Pipes a request to git. When git stops reading, the rest of the request is discarded, so that the client gets the response. */
export const feed = (body: Readable, { stdin, stop }: GitProcess): void => {
  body.pipe(stdin)
  stdin.once('error', () => {
    body.unpipe(stdin)
    body.resume()
  })
  body.once('error', () => stop())
  body.once('close', () => body.readableEnded || stop())
}

/**
 * A command that runs git with a limit on its memory, which all processes that git starts inherit. The limit is on data
 * (`ulimit -d`) and not on the address space, because git maps whole packs into memory.
 * @param bytes for each process; undefined: no limit
 * @throws AllotError unavailable when git is not installed: the shell would only print that
 */
export const withMemoryLimit = async (
  git: string,
  args: readonly string[],
  bytes: number | undefined,
): Promise<[command: string, args: readonly string[]]> => {
  if (bytes === undefined || process.platform === 'win32') return [git, args]
  await checkInstalled(git)
  return ['/bin/sh', ['-c', LIMIT_SCRIPT, String(Math.ceil(bytes / 1024)), git, ...args]]
}

/** The arguments are not part of the script's text. A lower limit of the system stays in force. */
const LIMIT_SCRIPT = 'ulimit -d "$0" 2>/dev/null; exec "$@"'

const checkInstalled = async (git: string): Promise<void> => {
  const folders = git.includes('/') ? [''] : (process.env.PATH ?? '').split(delimiter)
  for (const folder of folders) {
    const isExecutable = access(join(folder, git), constants.X_OK).then(
      () => true,
      () => false,
    )
    if (await isExecutable) return
  }
  throw startError(git, Object.assign(new Error(`${git} was not found`), { code: 'ENOENT' }))
}
