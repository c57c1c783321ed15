import cluster, { type Worker } from 'node:cluster'
import { setTimeout } from 'node:timers/promises'
import type { Log } from '../../lib/http/index.ts'

/** What a worker sends to its supervisor once it serves. */
export interface WorkerStarted {
  url: string
  data: string
}

/** Pause before a worker that ended is replaced. It doubles each time, until a worker has run for `STABLE_MS`. */
const RESTART_PAUSE_MS = { first: 200, longest: 30_000 }
const STABLE_MS = 60_000

/** How long workers may take to stop before they are killed; longer than the shutdown of a server takes. */
const STOP_TIMEOUT_MS = 15_000

/** In a worker: tells the supervisor that it serves. Does nothing in a process without a supervisor. */
export const notifyStarted = (started: WorkerStarted): void => void cluster.worker?.send(started)

/** In a worker: closes the channel to the supervisor, which would keep the process alive. */
export const disconnectWorker = (): void => void cluster.worker?.disconnect()

/** Number of this worker, from 1; undefined in a process without a supervisor. */
export const workerNumber = (): number | undefined => numberFrom(process.env.ALLOT_WORKER)

/** Port that the first worker has picked; undefined in the first worker. */
export const sharedPort = (): number | undefined => numberFrom(process.env.ALLOT_PORT)

const numberFrom = (text: string | undefined): number | undefined =>
  cluster.isWorker && text !== undefined ? Number(text) : undefined

interface Workers {
  started: WorkerStarted
  /** Stops all workers; each finishes its requests in flight. */
  stop(): Promise<void>
}

/**
 * Keeps `count` workers running, which share one port. The first starts alone: an error that all of them would have is
 * printed once, and only one of them creates the administrator of an empty store.
 * @returns undefined when the first worker could not start
 */
export const superviseWorkers = async (count: number, log: Log): Promise<Workers | undefined> => {
  const pool = createPool()
  const stopping = new AbortController()
  const first = pool.fork(1)
  const started = await first.started
  if (started === undefined) return undefined
  // `--port 0` picks a free port only once; later workers share it, even when the first has ended.
  pool.sharePort(new URL(started.url).port || '80')
  const others = Array.from({ length: count - 1 }, (_, index) => index + 2)
  const running = [first, ...others.map((number) => pool.fork(number))].map((worker, index) =>
    keepRunning(worker.ended, () => pool.fork(index + 1).ended, {
      number: index + 1,
      log,
      signal: stopping.signal,
    }),
  )
  return {
    started,
    async stop() {
      stopping.abort()
      pool.kill('SIGTERM')
      const timer = globalThis.setTimeout(() => pool.kill('SIGKILL'), STOP_TIMEOUT_MS)
      await Promise.all(running)
      clearTimeout(timer)
    },
  }
}

interface Forked {
  /** Resolves with the signal or the exit code. */
  ended: Promise<string>
  /** Undefined when the worker ended before it served. */
  started: Promise<WorkerStarted | undefined>
}

const createPool = () => {
  const alive = new Set<Worker>()
  let environment: { ALLOT_PORT?: string } = {}
  return {
    sharePort(port: string): void {
      environment = { ALLOT_PORT: port }
    },
    fork(number: number): Forked {
      const worker = cluster.fork({ ALLOT_WORKER: String(number), ...environment })
      alive.add(worker)
      const ended = new Promise<string>((resolve) =>
        worker.once('exit', (code, signal) => {
          alive.delete(worker)
          resolve(signal ?? `the exit code ${code}`)
        }),
      )
      const started = new Promise<WorkerStarted>((resolve) => worker.once('message', resolve))
      return { ended, started: Promise.race([started, ended.then(() => undefined)]) }
    },
    kill(signal: NodeJS.Signals): void {
      for (const worker of alive) worker.process.kill(signal)
    },
  }
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
