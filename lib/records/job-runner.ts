import { type Job, type Jobs, jobs as records, runStep } from './jobs.ts'
import { pause, pauseSince } from './pacing.ts'
import type { Store } from './store.ts'

/** Does the jobs that changes have left (see jobs.ts), a step at a time, so that others have their turn between. */
export interface JobRunner {
  /** Begins, if it rests; also to be called once when the store is open, for what was left before. */
  wake(): void
  /** One step of every job there is. @returns how many there were and how many failed. */
  round(): Promise<{ errands: number; failures: number }>
  /** Resolves when it rests. */
  idle(): Promise<void>
  /** Ends after the step that is under way; what is left is done after the next start. */
  stop(): Promise<void>
}

/** Milliseconds until jobs that failed are tried again; twice as long after each failure. */
const RETRY = { first: 1000, last: 60_000 }

/** @param onError told why a job could not be done; it will be tried again. */
export const createJobRunner = (
  store: Store,
  errands: Jobs,
  onError: (error: unknown, job?: Job) => void,
): JobRunner => {
  const stopping = new AbortController()
  const { signal } = stopping
  let running: Promise<void> | undefined
  let called = false

  /** Jobs of a kind that nobody does here are left to whoever can. */
  const open = () =>
    store.read(async (tx) => {
      const found: Job[] = []
      for await (const job of records.all(tx)) if (errands.handlerOf(job.kind)) found.push(job)
      return found
    })

  const advanceOne = async (job: Job): Promise<void> => {
    const work = errands.handlerOf(job.kind)!
    await work.prepare?.(job.id)
    await store.write((tx) => runStep(tx, work, errands.bounds.batchSize, job))
  }

  const advanceOrTell = async (job: Job): Promise<boolean> => {
    try {
      await advanceOne(job)
      return true
    } catch (error) {
      onError(error, job)
      return false
    }
  }

  const round = async (pauses: boolean): Promise<{ errands: number; failures: number }> => {
    const found = await open()
    let failures = 0
    for (const job of found) {
      if (signal.aborted) break
      const begun = performance.now()
      if (!(await advanceOrTell(job))) failures++
      if (pauses) await pauseSince(begun, signal)
    }
    return { errands: found.length, failures }
  }

  const run = async (): Promise<void> => {
    let retry = RETRY.first
    while (called && !signal.aborted) {
      called = false
      const done = await round(true).catch((error: unknown) => {
        onError(error)
        return { errands: 1, failures: 1 }
      })
      if (done.errands > 0) called = true
      if (done.failures > 0) await pause(retry, signal)
      retry = done.failures > 0 ? Math.min(retry * 2, RETRY.last) : RETRY.first
    }
    // Nothing is awaited since the last look at `called`, so no call is missed.
    running = undefined
  }

  return {
    wake() {
      called = true
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
