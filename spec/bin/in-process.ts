import { AsyncLocalStorage } from 'node:async_hooks'
import { Readable, Writable } from 'node:stream'
import { createServeProgram } from '../../bin/command-line.ts'
import { errorLine, exitCodeOf } from '../../bin/errors.ts'
import { createProgram } from '../../bin/program.ts'
import { atEnd, once } from '../support/cleanup.ts'
import { waitFor } from '../support/wait-for.ts'
import type { AllotOptions, Outcome } from './program.ts'

/*
 * The command line in the process of the specs, where it starts in a hundredth of the time. Specs about
 * signals, exit codes, pipes, locks and terminals start a process of its own, with `program.ts`.
 */

interface Streams {
  out: string
  err: string
  readonly stdin: Readable
  readonly stdout: Writable
  readonly stderr: Writable
}

const captureFrom = (input: string | Uint8Array): Streams => {
  const into = (member: 'out' | 'err') =>
    new Writable({
      write(bytes: Buffer, _encoding, done) {
        captured[member] += bytes.toString()
        done()
      },
    })
  const captured = {
    out: '',
    err: '',
    stdin: Readable.from([input]),
    stdout: into('out'),
    stderr: into('err'),
  }
  return captured
}

/** The streams of the command line that is running; undefined in code of the specs and of the test runner. */
const streams = new AsyncLocalStorage<Streams>()

for (const name of ['stdin', 'stdout', 'stderr'] as const) {
  const { get } = Object.getOwnPropertyDescriptor(process, name)!
  Object.defineProperty(process, name, {
    configurable: true,
    enumerable: true,
    get: () => streams.getStore()?.[name] ?? get!.call(process),
  })
}

/** Exit code, environment and current folder belong to the process: command lines run one after another. */
let last: Promise<unknown> = Promise.resolve()
const inTurn = <Result>(work: () => Promise<Result>): Promise<Result> => {
  const result = last.then(work)
  last = result.catch(() => undefined)
  return result
}

/** @returns what restores the environment and the current folder */
const change = (cwd: string | undefined, env: Record<string, string> = {}): (() => void) => {
  const [environment, folder] = [process.env, process.cwd()]
  process.env = { ...environment, ...env }
  if (cwd !== undefined) process.chdir(cwd)
  return () => {
    process.env = environment
    process.chdir(folder)
  }
}

const SIGNALS = ['SIGHUP', 'SIGINT', 'SIGTERM'] as const
type Signal = (typeof SIGNALS)[number]
type Listener = (signal: Signal) => void

// Each server in this process has some.
process.setMaxListeners(100)

const listenersOf = (signal: Signal) => process.rawListeners(signal) as Listener[]

/** @returns a function that returns the listeners of signals that were added since */
const listenersFromNow = (): (() => Map<Signal, Listener[]>) => {
  const before = new Set(SIGNALS.flatMap(listenersOf))
  return () =>
    new Map(SIGNALS.map((signal) => [signal, listenersOf(signal).filter((one) => !before.has(one))]))
}

const removeListeners = (added: ReadonlyMap<Signal, Listener[]>): void => {
  for (const [signal, listeners] of added) for (const one of listeners) process.off(signal, one)
}

/**
 * Runs a command line as `bin/main.ts` does.
 * @returns the exit code of an error, or 0
 */
const run = async (args: readonly string[]): Promise<number> => {
  try {
    const program = args[0] === 'serve' ? createServeProgram() : createProgram()
    await program.parseAsync(args, { from: 'user' })
    return 0
  } catch (error) {
    process.stderr.write(errorLine(error))
    return exitCodeOf(error)
  }
}

/** Runs a command line to its end, with the input on its standard input. */
export const allot = (
  args: readonly string[],
  cwd?: string,
  { input = new Uint8Array(), env }: AllotOptions = {},
): Promise<Outcome> =>
  inTurn(async () => {
    const captured = captureFrom(input)
    const [restore, added, before] = [change(cwd, env), listenersFromNow(), process.exitCode]
    process.exitCode = 0
    try {
      const code = (await streams.run(captured, () => run(args))) || Number(process.exitCode)
      return { code, out: captured.out, err: captured.err }
    } finally {
      restore()
      process.exitCode = before
      removeListeners(added())
    }
  })

export interface ServedHere {
  /** Such as http://127.0.0.1:40001/api/v1 */
  api: string
  /** All that was printed so far. */
  printed(): string
  /** Calls the listeners of a signal that this server has added. */
  signal(signal: Signal): void
  /** Ends the server as SIGTERM does; so does the end of the file. */
  stop(): Promise<number>
}

/** A server on a free port, when it serves. */
export const served = (args: readonly string[]): Promise<ServedHere> =>
  inTurn(async () => {
    const since = listenersFromNow()
    const captured = captureFrom('')
    const printed = () => captured.out + captured.err
    const ended = streams.run(captured, () => run(['serve', '--port', '0', ...args]))
    let code: number | undefined
    void ended.then((one) => {
      code = one
    })
    const address = () => /serves (https?:\S+)/.exec(captured.out)?.[1]
    await waitFor(() => code !== undefined || address() !== undefined)
    const api = address()
    if (api === undefined) throw new Error(`the server ended with ${code}: ${printed()}`)
    const added = since()
    const signal = (name: Signal) => {
      for (const listener of added.get(name)!) streams.run(captured, () => listener(name))
    }
    const stop = once(async () => {
      signal('SIGTERM')
      const result = await ended
      removeListeners(added)
      return result
    })
    atEnd(stop)
    return { api, printed, signal, stop }
  })
