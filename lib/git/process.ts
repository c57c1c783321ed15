import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, constants } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { delimiter, join } from 'node:path'
import type { Duplex, Readable, Writable } from 'node:stream'
import { AllotError } from '../errors.ts'
import { lowerPriorityOf } from '../priority.ts'

/**
 * Environment of git, without the configuration of the user and the machine: what git does depends only on
 * its arguments.
 */
export const ENVIRONMENT: Readonly<Record<string, string | undefined>> = {
  PATH: process.env.PATH,
  LC_ALL: 'C',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_SYSTEM: '/dev/null',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
  // A push of refs/replace/… must not change what an id stands for: caches rely on it, and clones have the
  // object itself.
  GIT_NO_REPLACE_OBJECTS: '1',
  // Allot writes references and objects of new repositories itself.
  GIT_DEFAULT_HASH: 'sha1',
  GIT_DEFAULT_REF_FORMAT: 'files',
}

/**
 * Environment in which git keeps the memory of a large folder for the next one, where it uses glibc: a search
 * of a history, or a long chain of deltas, needs many of them, and git would return the memory to the kernel
 * each time.
 */
export const REUSE_OF_MEMORY = {
  MALLOC_MMAP_THRESHOLD_: String(32 * 1024 * 1024),
  MALLOC_TRIM_THRESHOLD_: String(16 * 1024 * 1024),
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

/** Explains why a git process did not start. */
const startError = (git: string, cause: Error): Error =>
  (cause as NodeJS.ErrnoException).code === 'ENOENT'
    ? new AllotError(
        'unavailable',
        `the command ${git} was not found: install git, or turn repositories off with the option repositories = false`,
        { cause },
      )
    : cause

/** Same names as the options `git.*`. An absent limit is not applied. */
export interface ProcessLimits {
  /** Milliseconds without a byte in either direction. */
  readonly idleTimeout?: number | undefined
  /** Count of bytes on the connection of the client, when it changes although git waits for a slow client. */
  readonly traffic?: (() => number) | undefined
  /** Milliseconds for the whole run. */
  readonly timeout?: number | undefined
  /** Bytes for each process. */
  readonly maxMemory?: number | undefined
}

/** How a process ended. */
export interface ExitResult {
  /** Null after a signal. */
  readonly code: number | null
  /** Standard error, at most 4 KiB of it. */
  readonly stderr: string
  /** `exited` unless `stop` was called, also after a signal from elsewhere. */
  readonly cause: 'exited' | 'stopped' | 'idle' | 'deadline'
}

/** A running git, with timeouts and a limit on its memory. */
export interface GitProcess {
  readonly pid: number
  readonly stdin: Writable
  readonly stdout: Readable
  /** The socket that {@link ProcessOptions.hasChannel} asks for. */
  readonly channel: Duplex | undefined
  readonly ended: Promise<ExitResult>
  /** Sends SIGTERM, so that git removes its temporary files, and SIGKILL after 5 seconds. */
  stop(cause?: ExitResult['cause']): void
}

interface ProcessOptions extends ProcessLimits {
  readonly git: string
  readonly env: Record<string, string | undefined>
  /**
   * Runs git in a process group of its own, which is stopped as a whole and gets no Ctrl-C meant for the
   * server. Not for fetches: Linux schedules groups against each other, and on a busy machine a clone then
   * takes twice as long.
   */
  readonly isDetached: boolean
  /**
   * Begins git when a line comes on standard input, and never when standard input ends before, as it does
   * when the server is killed. For a git that would not wait for input by itself.
   */
  readonly isHeld?: boolean
  /** Opens a socket to what git starts, such as hooks, as descriptor 3. */
  readonly hasChannel?: boolean
}

/** Node's pipes are sockets, which count their bytes. */
type PipedProcess = ChildProcess & { stdin: Socket; stdout: Socket; stderr: Socket }

const GRACE_MS = 5000
/**
 * How long standard error is read after git has ended: a process that git has started can keep the pipe open.
 */
const CLOSE_MS = 1000
const MAX_STDERR = 4096

/**
 * Starts git. Its output must be read at once: node drops what is left of it when git ends before that.
 * @throws AllotError unavailable when git is not installed
 */
export const startProcess = async (
  args: readonly string[],
  { git, env, isDetached, isHeld = false, hasChannel = false, ...limits }: ProcessOptions,
): Promise<GitProcess> => {
  const limited = withMemoryLimit(await locate(git), args, limits.maxMemory)
  const [command, commandArgs] = isHeld ? held(...limited) : limited
  const stdio = Array<'pipe'>(hasChannel ? 4 : 3).fill('pipe')
  const child = spawn(command, commandArgs, { env, detached: isDetached, stdio }) as PipedProcess
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', (cause) => reject(startError(git, cause)))
  })
  lowerPriorityOf(child.pid!)
  // A git that ends before it has read its input reports that by its exit code.
  child.stdin.on('error', () => undefined)
  const { stop, cause } = stopper(child, isDetached)
  const clear = watchTimeouts(child, limits, stop)
  const stderr = collectText(child.stderr)
  const ended = new Promise<ExitResult>((resolve) => {
    child.once('exit', async (code) => {
      clear()
      if (!child.stderr.closed)
        await once(child.stderr, 'close', { signal: AbortSignal.timeout(CLOSE_MS) }).catch(() => undefined)
      resolve({ code, stderr: stderr().trim(), cause: cause() })
    })
  })
  const channel = hasChannel ? (child.stdio[3] as Duplex) : undefined
  return { pid: child.pid!, stdin: child.stdin, stdout: child.stdout, channel, ended, stop }
}

const stopper = (child: ChildProcess, isDetached: boolean) => {
  let cause: ExitResult['cause'] = 'exited'
  const send = (signal: NodeJS.Signals) => (isDetached ? signalGroup(child, signal) : void child.kill(signal))
  const stop: GitProcess['stop'] = (why = 'stopped') => {
    if (cause !== 'exited' || child.exitCode !== null || child.signalCode !== null) return
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

/** @returns ends the watch */
const watchTimeouts = (
  { stdin, stdout }: PipedProcess,
  { idleTimeout, traffic = () => 0, timeout }: ProcessLimits,
  stop: GitProcess['stop'],
) => {
  const transferred = () => stdout.bytesRead + stdin.bytesWritten + traffic()
  const endIdleWatch = idleTimeout && watchIdle(transferred, idleTimeout, () => stop('idle'))
  const deadline = timeout && setTimeout(() => stop('deadline'), timeout)
  return () => {
    if (endIdleWatch) endIdleWatch()
    clearTimeout(deadline)
  }
}

/**
 * Polls a count of bytes, which costs nothing per byte, until it stays the same for a while.
 * @returns ends the watch
 */
export const watchIdle = (transferred: () => number, timeoutMs: number, onIdle: () => void): (() => void) => {
  let [last, since] = [transferred(), performance.now()]
  const poll = setInterval(() => {
    const current = transferred()
    if (current !== last) [last, since] = [current, performance.now()]
    else if (performance.now() - since >= timeoutMs) onIdle()
  }, timeoutMs / 4)
  return () => clearInterval(poll)
}

const collectText = (stream: Readable): (() => string) => {
  let text = ''
  stream.on('data', (chunk: Buffer) => {
    if (text.length < MAX_STDERR) text = (text + chunk.toString('utf8')).slice(0, MAX_STDERR)
  })
  return () => text
}

export interface WriteListener {
  /**
   * Called before git may change anything; an error stops git, and nothing has changed.
   * @param pid of the git that will
   */
  started(pid: number): Promise<void>
}

/** Announces a git that waits for its input to the listener, and stops git when the listener fails. */
export const announce = (child: GitProcess, listener: WriteListener): Promise<void> =>
  listener.started(child.pid).catch(async (error) => {
    child.stop()
    await child.ended
    throw error
  })

/**
 * Pipes a request to git. When git stops reading, the rest of the request is discarded, so that the client
 * gets the response.
 */
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
 * A command that runs git with a limit on its memory, which all processes that git starts inherit. The limit
 * is on data (`ulimit -d`) and not on the address space, because git maps whole packs into memory.
 * @param bytes for each process; undefined: no limit
 */
export const withMemoryLimit = (
  git: string,
  args: readonly string[],
  bytes: number | undefined,
): [command: string, args: readonly string[]] =>
  bytes === undefined || process.platform === 'win32'
    ? [git, args]
    : ['/bin/sh', ['-c', LIMIT_SCRIPT, String(Math.ceil(bytes / 1024)), git, ...args]]

/** The arguments are not part of the script's text. A lower limit of the system stays in force. */
const LIMIT_SCRIPT = 'ulimit -d "$0" 2>/dev/null; exec "$@"'

const held = (command: string, args: readonly string[]): [command: string, args: readonly string[]] =>
  process.platform === 'win32' ? [command, args] : ['/bin/sh', ['-c', HOLD_SCRIPT, command, ...args]]

const HOLD_SCRIPT = 'read -r line && exec "$0" "$@"'

/**
 * The path of git, since its own PATH may not lead to it.
 * @throws AllotError unavailable when git is not installed: a shell would only print that
 */
const locate = async (git: string): Promise<string> => {
  if (process.platform === 'win32') return git
  const paths = git.includes('/')
    ? [git]
    : (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, git))
  for (const path of paths) {
    const refusal = await access(path, constants.X_OK).catch((error: Error) => error)
    if (refusal === undefined) return path
  }
  throw startError(git, Object.assign(new Error(`${git} was not found`), { code: 'ENOENT' }))
}
