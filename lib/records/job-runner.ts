import { AllotError } from '../errors.ts'
import { Mutex, type ReadTransaction } from '../storage/index.ts'
import { type Job, type Jobs, jobs } from './jobs.ts'
import { pause, pauseSince } from './pacing.ts'
import type { Store } from './store.ts'

const SHARED_INTERVAL_MS = 60_000

/** Milliseconds before a retry; the wait doubles with each failure. */
const RETRY_MS = { first: 1000, last: 60_000 }

/**
 * Runs pending jobs in the background, with a pause after each step. Jobs of a kind run one after another,
 * and those of several kinds take turns, so a job that waits or fails delays only those of its kind. After a
 * round of a kind in which a step failed, its jobs wait: one second at first, and up to a minute while
 * failures go on.
 */
export class JobRunner {
  readonly #store: Store
  readonly #jobs: Jobs
  readonly #onError: (error: unknown, job?: Job) => void
  readonly #stopping: AbortController
  /** The loops that run, by the kind of their jobs. */
  readonly #running = new Map<Job['kind'], Promise<void>>()
  readonly #woken = new Set<Job['kind']>()
  /** Held for one step and its pause. */
  readonly #steps = new Mutex()
  #timer: NodeJS.Timeout | undefined

  /** @param onError called when a step fails; the step is tried again */
  constructor(store: Store, jobs: Jobs, onError: (error: unknown, job?: Job) => void) {
    this.#store = store
    this.#jobs = jobs
    this.#stopping = jobs.stopping
    this.#onError = onError
  }

  /**
   * Runs what earlier processes left. On a shared store looks every minute for jobs of processes that were
   * killed.
   */
  start(): void {
    this.wake()
    if (this.#store.driver.shared) this.#timer = setInterval(() => this.wake(), SHARED_INTERVAL_MS).unref()
  }

  /** Starts running jobs of these kinds, unless they run. Called when a job was enqueued. */
  wake(kinds: Iterable<Job['kind']> = this.#jobs.kinds): void {
    if (this.#stopping.signal.aborted) return
    for (const kind of kinds) {
      this.#woken.add(kind)
      if (!this.#running.has(kind)) this.#running.set(kind, this.#run(kind))
    }
  }

  /** Resolves when the runner has stopped or has no runnable job left. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running.values())
  }

  /** Resolves after the current steps; the next start runs the rest. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    this.#stopping.abort(new AllotError('unavailable', 'the server is stopping'))
    await this.idle()
  }

  /**
   * Runs one step of every pending job.
   * @param kind of the jobs; absent for those of all kinds
   * @param pauses whether to pause after each step, for other requests
   * @returns how many were pending and how many failed
   */
  async round(kind?: Job['kind'], pauses = false): Promise<{ pending: number; failures: number }> {
    const pending = await this.#store.read((tx) => this.#runnableJobs(tx, kind))
    let failures = 0
    for (const job of pending) {
      if (this.#stopping.signal.aborted) break
      try {
        await this.#jobs.handlerOf(job.kind)!.prepare?.(job.id)
        await this.#steps.run(() => this.#step(job, pauses))
      } catch (error) {
        if (error === this.#stopping.signal.reason) break
        failures++
        this.#onError(error, job)
      }
    }
    return { pending: pending.length, failures }
  }

  async #step(job: Job, pauses: boolean): Promise<void> {
    const begun = performance.now()
    try {
      await this.#store.write((tx) => this.#jobs.runStep(tx, job))
    } finally {
      if (pauses) await pauseSince(begun, this.#stopping.signal)
    }
  }

  async #run(kind: Job['kind']): Promise<void> {
    const { signal } = this.#stopping
    let retryMs = RETRY_MS.first
    while (this.#woken.delete(kind) && !signal.aborted) {
      const { pending, failures } = await this.round(kind, true).catch((error: unknown) => {
        this.#onError(error)
        return { pending: 1, failures: 1 }
      })
      if (pending > 0) this.#woken.add(kind)
      if (failures > 0) await pause(retryMs, signal)
      retryMs = failures > 0 ? Math.min(retryMs * 2, RETRY_MS.last) : RETRY_MS.first
    }
    // There is no await after the last check of `#woken`, so no wake-up is lost.
    this.#running.delete(kind)
  }

  /** Pending jobs with a handler in this process; the others are left to other processes. */
  async #runnableJobs(tx: ReadTransaction, kind: Job['kind'] | undefined): Promise<Job[]> {
    const found: Job[] = []
    for await (const job of jobs.all(tx, kind && [kind])) if (this.#jobs.handlerOf(job.kind)) found.push(job)
    return found
  }
}
