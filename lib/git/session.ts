import { type ChildProcess, spawn } from 'node:child_process'
import type { Socket } from 'node:net'
import type { Readable, Writable } from 'node:stream'
import { lowerPriorityOf } from '../low-priority.ts'
import { withMemoryLimit } from './memory-limit.ts'
import { absent } from './run.ts'

/** Milliseconds. */
export interface Patience {
  /** Without a byte in either direction. */
  idle: number
  /** In all. */
  deadline: number
}

/** How git ended. */
export interface Ending {
  /** Null when it was stopped. */
  readonly code: number | null
  /** What it wrote to standard error, shortened. */
  readonly said: string
  readonly cause: 'itself' | 'stopped' | 'idle' | 'deadline'
}

/** One git that speaks with one client. */
export interface Session {
  readonly pid: number
  readonly stdin: Writable
  readonly stdout: Readable
  readonly ended: Promise<Ending>
  /** Asks git to end, which then takes back what it has not finished, and makes it end if it does not. */
  stop(cause?: Ending['cause']): void
}

/** Pipes are sockets to Node, and count what went through. */
type Spoken = ChildProcess & { stdin: Socket; stdout: Socket; stderr: Socket }

/** Milliseconds that git has to clean up. */
const GRACE = 5000
const LONGEST = 4096

export interface SessionOptions {
  git: string
  env: Record<string, string | undefined>
  patience: Patience
  /** Bytes of memory for each process; undefined: no limit. */
  memory?: number | undefined
  /**
   * In a group of its own: it ends with all that it has started, and no Ctrl-C meant for the server reaches it. Linux then
   * schedules it as a stranger, though, and on a busy machine a clone takes twice as long.
   */
  isApart: boolean
}

/** @throws AllotError unavailable when there is no git. */
export const startSession = async (
  args: readonly string[],
  { git, env, patience, memory, isApart }: SessionOptions,
): Promise<Session> => {
  const [command, words] = await withMemoryLimit(git, args, memory)
  const child = spawn(command, words, { env, detached: isApart, stdio: 'pipe' }) as Spoken
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', (cause) => reject(absent(git, cause)))
  })
  lowerPriorityOf(child.pid!)
  let cause: Ending['cause'] = 'itself'
  const said = gathered(child.stderr)

  const end = (name: NodeJS.Signals) => (isApart ? signalGroup(child, name) : void child.kill(name))
  const stop: Session['stop'] = (why = 'stopped') => {
    if (cause !== 'itself' || child.exitCode !== null || child.signalCode !== null) return
    cause = why
    end('SIGTERM')
    const insist = setTimeout(() => end('SIGKILL'), GRACE)
    child.once('exit', () => clearTimeout(insist))
  }
  const idle = whenIdle(
    () => child.stdout.bytesRead + child.stdin.bytesWritten,
    patience.idle,
    () => stop('idle'),
  )
  const deadline = setTimeout(() => stop('deadline'), patience.deadline)
  const ended = new Promise<Ending>((resolve) => {
    child.once('exit', (code) => {
      clearInterval(idle)
      clearTimeout(deadline)
      resolve({ code, said: said().trim(), cause })
    })
  })
  // A git that ends before it has read everything is told of by its exit code.
  child.stdin.on('error', () => undefined)
  return { pid: child.pid!, stdin: child.stdin, stdout: child.stdout, ended, stop }
}

/** Looks now and then whether anything moved: nothing is done for each byte. */
const whenIdle = (moved: () => number, patience: number, act: () => void): NodeJS.Timeout => {
  let [last, since] = [moved(), performance.now()]
  return setInterval(() => {
    const now = moved()
    if (now !== last) [last, since] = [now, performance.now()]
    else if (performance.now() - since >= patience) act()
  }, patience / 4)
}

const gathered = (stream: Readable): (() => string) => {
  let text = ''
  stream.on('data', (chunk: Buffer) => {
    if (text.length < LONGEST) text += chunk.toString('utf8').slice(0, LONGEST)
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
export const feed = (body: Readable, { stdin, stop }: Session): void => {
  body.pipe(stdin)
  stdin.once('error', () => {
    body.unpipe(stdin)
    body.resume()
  })
  body.once('error', () => stop())
  body.once('close', () => body.readableEnded || stop())
}
