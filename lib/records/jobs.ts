import * as v from 'valibot'
import type { ReadTransaction } from '../storage/driver.ts'
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
  name: 'errand',
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
  handle(kind: Job['kind'], work: JobHandler): void
  handlerOf(kind: Job['kind']): JobHandler | undefined
  /** Does at most `bounds.maxPerTransaction` records in this write, and enqueues the rest. @returns how many were done */
  runNow(tx: WriteContext, kind: Job['kind'], id: number, limit?: number): Promise<number>
  /** Enqueues all of it. */
  enqueue(tx: WriteContext, kind: Job['kind'], id: number): Promise<void>
  /** Does what was left of it, step by step: for whoever has to answer when nothing is left. */
  finish(store: Store, kind: Job['kind'], id: number): Promise<void>
}

/** How many records a write of a change may concern, and how many each write of the sweeper. */
export interface JobLimits {
  maxPerTransaction: number
  batchSize: number
}

export interface JobHandler {
  /** What is to be done outside of the store, before the first step. */
  prepare?(id: number): Promise<void>
  /** Does at most so much, in records; less than the limit means that nothing is left. @returns how much it did */
  step(tx: WriteContext, id: number, limit: number): Promise<number>
}

/** @param left called when a job has been left, after that is durable. */
export const createJobs = (bounds: JobLimits, left: () => void): Jobs => {
  const works = new Map<Job['kind'], JobHandler>()
  const workOf: Jobs['handlerOf'] = (kind) => works.get(kind)
  const leave = async (tx: WriteContext, kind: Job['kind'], id: number) => {
    await jobs.save(tx, { kind, id })
    tx.afterCommit(left)
  }
  return {
    bounds,
    handle: (kind, work) => void works.set(kind, work),
    handlerOf: workOf,
    async runNow(tx, kind, id, limit = bounds.maxPerTransaction) {
      // Before the step, which may ask whether the job is under way.
      await leave(tx, kind, id)
      const did = limit > 0 ? await workOf(kind)!.step(tx, id, limit) : 0
      if (did < limit) await jobs.remove(tx, [kind, id])
      return did
    },
    enqueue: leave,
    async finish(store, kind, id) {
      while (await store.write((tx) => runStep(tx, workOf(kind)!, bounds.batchSize, { kind, id })));
    },
  }
}

/** One step of a job, if it is there still. @returns whether something is left */
export const runStep = async (
  tx: WriteContext,
  work: JobHandler,
  limit: number,
  { kind, id }: Job,
): Promise<boolean> => {
  if (!(await isPending(tx, kind, id))) return false
  if ((await work.step(tx, id, limit)) >= limit) return true
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
