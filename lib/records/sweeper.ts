import { advance, type Errands } from './errands.ts'
import { pause, pauseSince } from './paced.ts'
import { type Errand, errands as records } from './schema.ts'
import type { Store } from './store.ts'

/** Does the errands that changes have left (see errands.ts), a step at a time, so that others have their turn between. */
export interface Sweeper {
  /** Begins, if it rests; also to be called once when the store is open, for what was left before. */
  wake(): void
  /** One step of every errand there is. @returns how many there were and how many failed. */
  round(): Promise<{ errands: number; failures: number }>
  /** Resolves when it rests. */
  idle(): Promise<void>
  /** Ends after the step that is under way; what is left is done after the next start. */
  stop(): Promise<void>
}

/** Milliseconds until errands that failed are tried again; twice as long after each failure. */
const RETRY = { first: 1000, last: 60_000 }

/** @param failed told why an errand could not be done; it will be tried again. */
export const createSweeper = (
  store: Store,
  errands: Errands,
  failed: (error: unknown, errand?: Errand) => void,
): Sweeper => {
  const stopping = new AbortController()
  const { signal } = stopping
  let running: Promise<void> | undefined
  let called = false

  /** Errands of a kind that nobody does here are left to whoever can. */
  const open = () =>
    store.read(async (tx) => {
      const found: Errand[] = []
      for await (const errand of records.all(tx)) if (errands.workOf(errand.kind)) found.push(errand)
      return found
    })

  const advanceOne = async (errand: Errand): Promise<void> => {
    const work = errands.workOf(errand.kind)!
    await work.before?.(errand.id)
    await store.write((tx) => advance(tx, work, errands.bounds.step, errand))
  }

  const advanceOrTell = async (errand: Errand): Promise<boolean> => {
    try {
      await advanceOne(errand)
      return true
    } catch (error) {
      failed(error, errand)
      return false
    }
  }

  const round = async (pauses: boolean): Promise<{ errands: number; failures: number }> => {
    const found = await open()
    let failures = 0
    for (const errand of found) {
      if (signal.aborted) break
      const begun = performance.now()
      if (!(await advanceOrTell(errand))) failures++
      if (pauses) await pauseSince(begun, signal)
    }
    return { errands: found.length, failures }
  }

  const run = async (): Promise<void> => {
    let retry = RETRY.first
    while (called && !signal.aborted) {
      called = false
      const done = await round(true).catch((error: unknown) => {
        failed(error)
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
