import * as v from 'valibot'
import type { ReadTransaction } from '../storage/index.ts'
import { collection } from './collection.ts'
import { id } from './fields.ts'
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
 * 3. The job runner (job-runner.ts) does the rest in writes of a bounded number of records, and removes the job with the
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
