import type { ReadTransaction } from '../storage/index.ts'
import { type Job, type Jobs, jobs as records, runStep } from './jobs.ts'
import { pause, pauseSince } from './pacing.ts'
import type { Store } from './store.ts'

/** Runs pending jobs (jobs.ts) in the background, with a pause after each step. */
export interface JobRunner {
  /** Starts running, if idle. Call it once when the store is open, for jobs from before the start. */
  wake(): void
  /** Runs one step of every pending job. @returns how many were pending and how many failed */
  round(): Promise<Round>
  /** Resolves when no job is pending. */
  idle(): Promise<void>
  /** Resolves after the current step; the next start runs the rest. */
  stop(): Promise<void>
}

interface Round {
  pending: number
  failures: number
}

/** Milliseconds before a retry; the wait doubles with each failure. */
const RETRY_MS = { first: 1000, last: 60_000 }

/** @param onError called when a step fails; the step is tried again */
export const createJobRunner = (
  store: Store,
  jobs: Jobs,
  onError: (error: unknown, job?: Job) => void,
): JobRunner => {
  const stopping = new AbortController()
  const { signal } = stopping
  let running: Promise<void> | undefined
  let isWoken = false
  const round = (pauses: boolean) => runRound(store, jobs, { onError, signal, pauses })

  const run = async (): Promise<void> => {
    let retryMs = RETRY_MS.first
    while (isWoken && !signal.aborted) {
      isWoken = false
      const { pending, failures } = await round(true).catch((error: unknown) => {
        onError(error)
        return { pending: 1, failures: 1 }
      })
      if (pending > 0) isWoken = true
      if (failures > 0) await pause(retryMs, signal)
      retryMs = failures > 0 ? Math.min(retryMs * 2, RETRY_MS.last) : RETRY_MS.first
    }
    // There is no await after the last check of `isWoken`, so no wake-up is lost.
    running = undefined
  }

  return {
    wake() {
      isWoken = true
      running ??= run()
    },
    round: () => round(false),
    async idle() {
      await running
    },
    async stop() {
      stopping.abort()
      await running
    },
  }
}

interface RoundOptions {
  onError: (error: unknown, job: Job) => void
  signal: AbortSignal
  /** Whether to pause after each step, for other requests. */
  pauses: boolean
}

const runRound = async (
  store: Store,
  jobs: Jobs,
  { onError, signal, pauses }: RoundOptions,
): Promise<Round> => {
  const pending = await store.read((tx) => runnableJobs(tx, jobs))
  let failures = 0
  for (const job of pending) {
    if (signal.aborted) break
    const begun = performance.now()
    try {
      await advance(store, jobs, job)
    } catch (error) {
      failures++
      onError(error, job)
    }
    if (pauses) await pauseSince(begun, signal)
  }
  return { pending: pending.length, failures }
}

/** Pending jobs with a handler in this process; the others are left to other processes. */
const runnableJobs = async (tx: ReadTransaction, jobs: Jobs): Promise<Job[]> => {
  const found: Job[] = []
  for await (const job of records.all(tx)) if (jobs.handlerOf(job.kind)) found.push(job)
  return found
}

const advance = async (store: Store, jobs: Jobs, job: Job): Promise<void> => {
  const handler = jobs.handlerOf(job.kind)!
  await handler.prepare?.(job.id)
  await store.write((tx) => runStep(tx, handler, jobs.bounds.batchSize, job))
}
