import cluster, { type Worker } from 'node:cluster'
import { setTimeout } from 'node:timers/promises'
import type { Log } from '../../lib/http/index.ts'
import { readConfig } from '../config/config.ts'
import type { StoreFlags } from '../config/store.ts'
import { UsageError } from '../usage-error.ts'

/** What a worker tells once it serves. */
export interface WorkerStarted {
  url: string
  data: string
}

/** More than one machine has a use for. */
const MAX = 128

/** Milliseconds until a worker that has died is replaced; twice as long each time, until one has lived for a while. */
const PAUSE = { first: 200, last: 30_000 }
const LIVED = 60_000

/** Milliseconds that workers have to end: longer than any of them takes by itself. */
const TIMEOUTS = 15_000

/**
 * How many workers are asked for; undefined for one process alone.
 * @throws Usage when the store belongs to one process.
 */
export const parseWorkers = (text: string | undefined, flags: StoreFlags): number | undefined => {
  if (text === undefined) return undefined
  const count = Number(text)
  if (!/^\d+$/.test(text) || count < 1 || count > MAX)
    throw new UsageError(`--workers ${text}: expected a number from 1 to ${MAX}`)
  const storage = flags.storage ?? readConfig(flags.config).server.storage
  if (storage !== undefined && /^postgres(ql)?:/.test(storage)) return count
  if (count === 1) return undefined
  const whose = storage === 'memory:' ? 'a store in memory' : 'LevelDB'
  throw new UsageError(
    `--workers ${count}: ${whose} belongs to one process; several need a database that they share: --storage postgres://…`,
  )
}

/** Tells whoever has started this worker that it serves. */
export const notifyStarted = (serving: WorkerStarted): void => void cluster.worker?.send(serving)

/** Lets a worker end once nothing is left to do: the channel to whoever has started it would keep it. */
export const disconnectWorker = (): void => void cluster.worker?.disconnect()

/** Whether this is one of several workers, its number, and the port that it shares with those that were before it. */
export const workerNumber = (): number | undefined => numberIn(process.env.ALLOT_WORKER)
export const sharedPort = (): number | undefined => numberIn(process.env.ALLOT_PORT)

const numberIn = (text: string | undefined): number | undefined =>
  cluster.isWorker && text !== undefined ? Number(text) : undefined

/**
 * Keeps so many workers running, which share one port. The first begins alone: what is wrong with all of them is said
 * once, and on an empty store one of them makes the administrator.
 * @returns how to end them all, each finishing what is in flight; undefined when the first could not begin
 */
export const superviseWorkers = async (
  count: number,
  log: Log,
): Promise<{ serving: WorkerStarted; stop: () => Promise<void> } | undefined> => {
  const alive = new Set<Worker>()
  const stopping = new AbortController()
  const { signal } = stopping
  /** A free port is any port only once: workers that come later share it, though the first may be gone. */
  let port: { ALLOT_PORT?: string } = {}

  const begin = (number: number): { ended: Promise<string>; serving: Promise<WorkerStarted | undefined> } => {
    const worker = cluster.fork({ ALLOT_WORKER: String(number), ...port })
    alive.add(worker)
    const ended = new Promise<string>((resolve) =>
      worker.once('exit', (code, name) => {
        alive.delete(worker)
        resolve(name ?? `the exit code ${code}`)
      }),
    )
    const told = new Promise<WorkerStarted>((resolve) => worker.once('message', resolve))
    return { ended, serving: Promise.race([told, ended.then(() => undefined)]) }
  }

  const keep = async (number: number, first?: Promise<string>): Promise<void> => {
    let pause = PAUSE.first
    for (let ended = first; !signal.aborted; ended = undefined) {
      const begun = performance.now()
      const how = await (ended ?? begin(number).ended)
      if (signal.aborted) return
      if (performance.now() - begun > LIVED) pause = PAUSE.first
      log.error({ worker: number }, `worker ${number} has ended with ${how}; another begins in ${pause} ms`)
      await setTimeout(pause, undefined, { signal }).catch(() => undefined)
      pause = Math.min(pause * 2, PAUSE.last)
    }
  }

  const first = begin(1)
  const serving = await first.serving
  if (serving === undefined) return undefined
  port = { ALLOT_PORT: new URL(serving.url).port || '80' }
  const others = Array.from({ length: count - 1 }, (_, at) => at + 2)
  const kept = [keep(1, first.ended), ...others.map((number) => keep(number))]
  return {
    serving,
    async stop() {
      stopping.abort()
      for (const worker of alive) worker.process.kill('SIGTERM')
      const insist = globalThis.setTimeout(() => {
        for (const worker of alive) worker.process.kill('SIGKILL')
      }, TIMEOUTS)
      await Promise.all(kept)
      clearTimeout(insist)
    },
  }
}
