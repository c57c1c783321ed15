import * as v from 'valibot'
import type { ReadTransaction } from '../storage/index.ts'
import { collection } from './collection.ts'
import { id } from './fields.ts'
import { pause, pauseSince } from './pacing.ts'
import type { Store, WriteContext } from './store.ts'

/**
 * What is left to do, and for which record:
 * - `entries`: ledger entries of a deleted repository
 * - `relations`: stars and watches of a repository that was deleted, or whose visibility changed
 * - `follows`: the same for the follows of an account
 * - `owner`: everything that a deleted account had
 * - `files`, `contents`: files, and issues and releases, of a deleted repository
 * - `comments`: comments of a deleted issue
 * - `package`: files of a deleted package version
 */
const Job = v.object({
  kind: v.picklist(['entries', 'relations', 'follows', 'owner', 'files', 'contents', 'comments', 'package']),
  id,
})
export type Job = v.InferOutput<typeof Job>

export const jobs = collection({
  name: 'job',
  schema: Job,
  id: (job) => [job.kind, job.id],
  ordered: { kind: (job) => [job.kind] },
  counted: { kind: (job) => [job.kind] },
})

/**
 * Deferred work. A change that concerns very many records (the deletion of a repository with a million ledger entries, of
 * an account with a hundred thousand stars) is acknowledged at once and completed in steps, between other requests:
 *
 * 1. The change itself is one small write. It removes what everything else is found by (the repository, its usage record,
 *    the account), and corrects every number that is answered from a counter of another owner.
 * 2. It enqueues a **job** for the rest: a record that is written in the same transaction. As much as one write may change
 *    is done at once, so a small change leaves no job.
 * 3. The job runner does the rest in writes of a bounded number of records, and removes the job with the
 *    last one. A step looks for what is left and keeps no state: after a restart, or in another process on a shared store,
 *    the job goes on where it stopped.
 *
 * While a job is pending, reads must already return what they will return once it is done. Each reader of what a job has
 * not removed yet says how: the ledger checks whether the owner of an entry still exists (lib/quota/ledger.ts), and lists
 * of relations check the record itself (lib/accounts/visibility.ts). Ids are never used twice, so a new repository
 * of the same name finds nothing of the old one.
 */
export interface Jobs {
  readonly bounds: JobLimits
  /** Registers the handler for jobs of a kind. */
  handle(kind: Job['kind'], handler: JobHandler): void
  handlerOf(kind: Job['kind']): JobHandler | undefined
  /** Processes at most `bounds.maxPerTransaction` records in this write, and enqueues the rest. @returns how many it processed */
  runNow(tx: WriteContext, kind: Job['kind'], id: number, limit?: number): Promise<number>
  /** Enqueues the whole job. */
  enqueue(tx: WriteContext, kind: Job['kind'], id: number): Promise<void>
  /** Runs the rest of a job now, for a caller that must not return before it is done. */
  finish(store: Store, kind: Job['kind'], id: number): Promise<void>
}

/** Records that the write of a change may process, and records that each write of the job runner may process. */
export interface JobLimits {
  maxPerTransaction: number
  batchSize: number
}

export interface JobHandler {
  /** Does the work outside of the store, before each step. */
  prepare?(id: number): Promise<void>
  /** Processes at most `limit` records. @returns how many; fewer than the limit means that the job is done */
  step(tx: WriteContext, id: number, limit: number): Promise<number>
}

/** @param onEnqueued called when a job is durable */
export const createJobs = (bounds: JobLimits, onEnqueued: () => void): Jobs => {
  const handlers = new Map<Job['kind'], JobHandler>()
  const handlerOf: Jobs['handlerOf'] = (kind) => handlers.get(kind)
  const enqueue = async (tx: WriteContext, kind: Job['kind'], id: number) => {
    await jobs.save(tx, { kind, id })
    tx.afterCommit(onEnqueued)
  }
  return {
    bounds,
    handle: (kind, handler) => void handlers.set(kind, handler),
    handlerOf,
    async runNow(tx, kind, id, limit = bounds.maxPerTransaction) {
      // First, since the step may check whether the job is pending.
      await enqueue(tx, kind, id)
      const done = limit > 0 ? await handlerOf(kind)!.step(tx, id, limit) : 0
      if (done < limit) await jobs.remove(tx, [kind, id])
      return done
    },
    enqueue,
    async finish(store, kind, id) {
      while (await store.write((tx) => runStep(tx, handlerOf(kind)!, bounds.batchSize, { kind, id })));
    },
  }
}

/** Runs one step of a job that is still pending. @returns whether more is left */
export const runStep = async (
  tx: WriteContext,
  handler: JobHandler,
  limit: number,
  { kind, id }: Job,
): Promise<boolean> => {
  if (!(await isPending(tx, kind, id))) return false
  if ((await handler.step(tx, id, limit)) >= limit) return true
  await jobs.remove(tx, [kind, id])
  return false
}

export const isPending = async (tx: ReadTransaction, kind: Job['kind'], id: number): Promise<boolean> =>
  (await jobs.get(tx, [kind, id])) !== undefined

/** The ids of all jobs of a kind. */
export const pendingIds = async (tx: ReadTransaction, kind: Job['kind']): Promise<number[]> => {
  if ((await jobs.count(tx, 'kind', [kind])) === 0) return []
  return (await jobs.list(tx, 'kind', { prefix: [kind] })).map((job) => job.id)
}

/** Runs pending jobs in the background, with a pause after each step. */
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
const runnableJobs = async (tx: ReadTransaction, { handlerOf }: Jobs): Promise<Job[]> => {
  const found: Job[] = []
  for await (const job of jobs.all(tx)) if (handlerOf(job.kind)) found.push(job)
  return found
}

const advance = async (store: Store, jobs: Jobs, job: Job): Promise<void> => {
  const handler = jobs.handlerOf(job.kind)!
  await handler.prepare?.(job.id)
  await store.write((tx) => runStep(tx, handler, jobs.bounds.batchSize, job))
}
