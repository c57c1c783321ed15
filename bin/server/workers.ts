import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import type { Log } from '../../lib/http/index.ts'

/** The message that a worker sends to its supervisor once it serves. */
export interface WorkerStarted {
  url: string
  data: string
  sshUrl?: string
}

/**
 * Pause before a worker that ended is replaced. It doubles each time, until a worker has run for `STABLE_MS`.
 */
const RESTART_PAUSE_MS = { first: 200, longest: 30_000 }
const STABLE_MS = 60_000

/** How long workers may take to stop before they are killed; longer than the shutdown of a server takes. */
const STOP_TIMEOUT_MS = 15_000

/** Tells the supervisor that this worker serves. Does nothing in a process without a supervisor. */
export const notifyStarted = (started: WorkerStarted): void => void cluster.worker?.send(started)

/** Closes the channel of this worker to the supervisor, which would keep the process alive. */
export const disconnectWorker = (): void => void cluster.worker?.disconnect()

/** Number of this worker, from 1; undefined in a process without a supervisor. */
export const workerNumber = (): number | undefined => numberFrom(process.env.ALLOT_WORKER)

/** Port that the workers share; undefined in a process without a supervisor. */
export const sharedPort = (): number | undefined => numberFrom(process.env.ALLOT_WORKER_PORT)

const numberFrom = (text: string | undefined): number | undefined =>
  cluster.isWorker && text !== undefined ? Number(text) : undefined

interface Supervision {
  log: Log
  /**
   * All workers must listen on the same port number: they cannot share one that the first of them has picked.
   */
  port: number
  /** Called when the first worker serves. The workers are stopped when it fails. */
  onStarted: (started: WorkerStarted) => Promise<void>
  /** Resolves when all workers should stop. Each finishes its requests in flight. */
  stopped: Promise<void>
}

/**
 * Keeps `count` workers running, which share one port. The first starts alone: an error that all of them
 * would have is printed once, and only one of them creates the administrator of an empty store.
 * @returns false when the first worker could not start
 */
export const superviseWorkers = async (
  count: number,
  { log, port, onStarted, stopped }: Supervision,
): Promise<boolean> => {
  // Each worker accepts connections itself. Node's default lets the supervisor accept them, and a connection
  // that is being handed to a worker when that worker is killed would stay open without a response.
  cluster.schedulingPolicy = cluster.SCHED_NONE
  const first = fork(1, port)
  const firstEnd = endOf(first)
  const started = await Promise.race([
    messageOf(first),
    firstEnd.then(() => 'failed' as const),
    stopped.then(() => 'stopped' as const),
  ])
  if (started === 'failed') return false
  if (started === 'stopped') {
    await stopWorkers(firstEnd)
    return true
  }
  const stopping = new AbortController()
  const running = Array.from({ length: count }, (_, index) => {
    const number = index + 1
    const start = () => endOf(fork(number, port))
    return keepRunning(number === 1 ? firstEnd : start(), start, { number, log, signal: stopping.signal })
  })
  try {
    await onStarted(started)
    await stopped
  } finally {
    stopping.abort()
    await stopWorkers(Promise.all(running))
  }
  return true
}

const fork = (number: number, port: number): Worker =>
  cluster.fork({ ALLOT_WORKER: String(number), ALLOT_WORKER_PORT: String(port) })

const messageOf = async (worker: Worker): Promise<WorkerStarted> => (await once(worker, 'message'))[0]

/** @returns the signal or the exit code */
const endOf = async (worker: Worker): Promise<string> => {
  const [code, signal] = await once(worker, 'exit')
  return signal ?? `the exit code ${code}`
}

/** Sends a signal of the supervisor to all workers. */
export const signalWorkers = (signal: NodeJS.Signals): void => {
  for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill(signal)
}

/** @param ended resolves when all workers have ended */
const stopWorkers = async (ended: Promise<unknown>): Promise<void> => {
  signalWorkers('SIGTERM')
  const timer = globalThis.setTimeout(signalWorkers, STOP_TIMEOUT_MS, 'SIGKILL')
  await ended
  clearTimeout(timer)
}

/** Replaces a worker whenever it ends. Resolves when it has ended after the signal. */
const keepRunning = async (
  ended: Promise<string>,
  restart: () => Promise<string>,
  { number, log, signal }: { number: number; log: Log; signal: AbortSignal },
): Promise<void> => {
  let pauseMs = RESTART_PAUSE_MS.first
  for (let running = ended; ; running = restart()) {
    const startedAt = performance.now()
    const reason = await running
    if (signal.aborted) return
    if (performance.now() - startedAt > STABLE_MS) pauseMs = RESTART_PAUSE_MS.first
    log.error({ worker: number }, `worker ${number} ended with ${reason}; it is restarted in ${pauseMs} ms`)
    await setTimeout(pauseMs, undefined, { signal }).catch(() => undefined)
    if (signal.aborted) return
    pauseMs = Math.min(pauseMs * 2, RESTART_PAUSE_MS.longest)
  }
}
