import type { ReadTransaction } from '../storage/driver.ts'
import { type Job, jobs } from './schema.ts'
import type { Store, WriteContext } from './store.ts'

/**
 * Changes that concern very many records (the deletion of a repository with a million ledger entries, of an account with
 * a hundred thousand stars) are acknowledged at once and done in steps, so that they hold up nobody:
 *
 * 1. The change itself is one small write. It takes away what everything else is found by (the repository, its
 *    container, the account) and sets right every number that is answered from a counter of another owner.
 * 2. What cannot be reached any more, or is to be told something, is left to an **job**: a record that is written in
 *    the same transaction. As much as one write may take is done within it, so that small changes leave no job.
 * 3. A job runner (job-runner.ts) does the rest in writes of their own, each of a bounded number of records, and takes the
 *    job away with its last one. Steps look for what is left and need no memory of what was done: a restart, or a
 *    second process on a shared store, goes on where the last one was.
 *
 * Between 1 and 3 every answer must be what it will be afterwards. Each reader of what a job leaves behind says how:
 * the ledger asks whether an entry still belongs to something (lib/quota/ledger.ts), lists of relations judge those that
 * a job has not come to by the record itself (lib/hosting/pending-visibility.ts). Ids are never used twice, so a new
 * repository of the same name finds nothing of the old one.
 */
export interface Jobs {
  readonly bounds: JobLimits
  /** Says what is done for jobs of a kind. */
  handle(kind: Job['kind'], work: JobHandler): void
  handlerOf(kind: Job['kind']): JobHandler | undefined
  /** Does what may be done in this write, `bounds.inOne` at most, and leaves the rest. @returns how much was done */
  runNow(tx: WriteContext, kind: Job['kind'], id: number, limit?: number): Promise<number>
  /** Leaves all of it. */
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
