import { AllotError } from '../errors.ts'
import { Mutex, type ReadTransaction } from '../storage/index.ts'
import { type Job, type Jobs, jobs } from './jobs.ts'
import { pause, pauseSince } from './pacing.ts'
import type { Store } from './store.ts'

const SHARED_INTERVAL_MS = 60_000

/** Milliseconds before a retry; the wait of a job doubles with each failure. */
const RETRY_MS = { first: 1000, last: 60_000 }

/**
 * Runs pending jobs in the background, with a pause after each step. Jobs of a kind run one after another,
 * and those of several kinds take turns, so a job that waits in `prepare` delays only those of its kind. A
 * job that failed waits alone: one second at first, and up to a minute while it goes on to fail.
 */
export class JobRunner {
  readonly #store: Store
  readonly #jobs: Jobs
  readonly #onError: (error: unknown, job?: Job) => void
  readonly #stopping: AbortController
  /** The loops that run, by the kind of their jobs. */
  readonly #running = new Map<Job['kind'], Promise<void>>()
  readonly #woken = new Set<Job['kind']>()
  /** Jobs whose last step failed, with the time of that and the wait until the next one. */
  readonly #failed = new Map<string, { readonly at: number; readonly waitMs: number }>()
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
   * @param pauses whether to pause after each step, for other requests, and to leave out jobs that failed
   *   until their wait is over
   * @returns how many were pending, and in how many the step was done
   */
  async round(kind?: Job['kind'], pauses = false): Promise<{ pending: number; done: number }> {
    const pending = await this.#store.read((tx) => this.#runnableJobs(tx, kind))
    let done = 0
    for (const job of pending) {
      if (this.#stopping.signal.aborted) break
      const name = `${job.kind} ${job.id}`
      const failed = this.#failed.get(name)
      if (pauses && failed !== undefined && Math.abs(Date.now() - failed.at) < failed.waitMs) continue
      try {
        await this.#jobs.handlerOf(job.kind)!.prepare?.(job.id)
        await this.#steps.run(() => this.#step(job, pauses))
        this.#failed.delete(name)
        done++
      } catch (error) {
        if (error === this.#stopping.signal.reason) break
        const waitMs = Math.min(2 * (failed?.waitMs ?? RETRY_MS.first / 2), RETRY_MS.last)
        this.#failed.set(name, { at: Date.now(), waitMs })
        this.#onError(error, job)
      }
    }
    return { pending: pending.length, done }
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
    while (this.#woken.delete(kind) && !signal.aborted) {
      const { pending, done } = await this.round(kind, true).catch((error: unknown) => {
        this.#onError(error)
        return { pending: 1, done: 0 }
      })
      if (pending > 0) this.#woken.add(kind)
      if (pending > 0 && done === 0) await pause(RETRY_MS.first, signal)
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
