import * as v from 'valibot'
import type { ReadTransaction } from '../storage/index.ts'
import { Collection } from './collection.ts'
import { id } from './fields.ts'
import { pauseSince } from './pacing.ts'
import type { Store, WriteContext } from './store.ts'

/** Deferred work of one kind, and the id of the record that it concerns. */
const Job = v.object({
  kind: v.picklist([
    /**
     * Everything that a deleted account had, or a deleted owner that a host named (lib/quota/host-owners.ts).
     */
    'removeAccountData',
    /** What belongs to a deleted repository, with its stored files, except its ledger entries. */
    'removeRepositoryContents',
    /** The ledger entries of a deleted repository. */
    'removeLedgerEntries',
    /** The assignments of a deleted group, by its number. */
    'removeAssignments',
    /** The comments, events and subscriptions of a deleted issue. */
    'removeComments',
    /** The files of a deleted package version. */
    'removePackageFiles',
    /** The deliveries of a deleted webhook. */
    'removeDeliveries',
    /** The forks of a repository that more people can see than the repository itself: they become private. */
    'restrictForks',
    /** Those of the repositories of an account whose visibility changed. */
    'restrictForksOfAccount',
    /** The LFS objects of a repository that was made from another one. */
    'copyLfsObjects',
  ]),
  id,
})
export type Job = v.InferOutput<typeof Job>

export const jobs = new Collection({
  name: 'job',
  schema: Job,
  id: (job) => [job.kind, job.id],
  ordered: { kind: (job) => [job.kind] },
  counted: { kind: (job) => [job.kind] },
})

export interface JobLimits {
  /** Records that the write of a change may process at most; a job does the rest. */
  maxPerTransaction: number
  /** Records that each write of the job runner may process at most. */
  batchSize: number
}

/**
 * A transaction of 500 ledger entries takes about 0.1 s, one of 50 is too short for other requests to notice.
 */
export const JOB_LIMITS: JobLimits = { maxPerTransaction: 500, batchSize: 50 }

export interface JobHandler {
  /**
   * Waits or works outside of the store, before each step of the job runner. `runNow` and `finish` do not
   * call it. It rejects with the reason of {@link Jobs.stopping} when that aborts.
   */
  prepare?(id: number): Promise<void>
  /**
   * Processes at most `limit` records.
   * @returns how many; fewer than the limit means that the job is done
   */
  step(tx: WriteContext, id: number, limit: number): Promise<number>
}

/**
 * Deferred work. A change that concerns very many records (the deletion of a repository with a million ledger
 * entries, of an account with a hundred thousand stars) is acknowledged at once and completed in steps,
 * between other requests:
 *
 * 1. The change itself is one small write. It removes what everything else is found by (the repository, its
 *    usage record, the account), and corrects the counters of other owners (such as a number of stars) at
 *    once.
 * 2. It enqueues a **job** for the rest: a record that is written in the same transaction. As much as one
 *    write may change is done at once, so a small change leaves no job.
 * 3. The job runner does the rest in writes of a bounded number of records, and removes the job with the last
 *    one. A step looks for what is left and keeps no state: after a restart, or within a minute in another
 *    process on a shared store, the job goes on where it stopped. There, every process runs all jobs that it
 *    has handlers for, without a lease: steps of one job conflict, and run one after another as all writes
 *    do.
 *
 * While a job is pending, reads must already return what they will return once it is done. Each reader of
 * what a job has not removed yet says how: the ledger checks whether the owner of an entry still exists
 * (lib/quota/ledger.ts), the groups of an owner are those that exist (lib/quota/assigned-groups.ts), and
 * the counts of a repository leave out those of deleted accounts (lib/repositories/counts.ts). Ids are never
 * used twice, so a new repository of the same name finds nothing of the old one.
 */
export class Jobs {
  readonly limits: JobLimits
  /** Aborted when the job runner stops; a request that works on a job ends with the same reason. */
  readonly stopping = new AbortController()
  readonly #onEnqueued: (kind: Job['kind']) => void
  readonly #handlers = new Map<Job['kind'], JobHandler>()

  /** @param onEnqueued called when a job is durable */
  constructor(limits: JobLimits, onEnqueued: (kind: Job['kind']) => void) {
    this.limits = limits
    this.#onEnqueued = onEnqueued
  }

  /** Registers the handler for jobs of a kind. */
  handle(kind: Job['kind'], handler: JobHandler): void {
    this.#handlers.set(kind, handler)
  }

  /** Kinds that have a handler. */
  get kinds(): Iterable<Job['kind']> {
    return this.#handlers.keys()
  }

  handlerOf(kind: Job['kind']): JobHandler | undefined {
    return this.#handlers.get(kind)
  }

  /**
   * Processes at most `limit` records in this write, and enqueues the rest. It never calls `prepare`: a job
   * that does its work there needs {@link enqueue}.
   * @returns how many it processed
   */
  async runNow(
    tx: WriteContext,
    kind: Job['kind'],
    id: number,
    limit = this.limits.maxPerTransaction,
  ): Promise<number> {
    // First, since the step may check whether the job is pending.
    await this.enqueue(tx, kind, id)
    const done = limit > 0 ? await this.handlerOf(kind)!.step(tx, id, limit) : 0
    if (done < limit) await jobs.remove(tx, [kind, id])
    return done
  }

  /** Enqueues the whole job. */
  async enqueue(tx: WriteContext, kind: Job['kind'], id: number): Promise<void> {
    await jobs.save(tx, { kind, id })
    tx.afterCommit(() => this.#onEnqueued(kind))
  }

  /**
   * Runs one step of a job that is still pending.
   * @returns whether more is left
   */
  async runStep(tx: WriteContext, { kind, id }: Job): Promise<boolean> {
    if (!(await isPending(tx, kind, id))) return false
    const { batchSize } = this.limits
    if ((await this.handlerOf(kind)!.step(tx, id, batchSize)) >= batchSize) return true
    await jobs.remove(tx, [kind, id])
    return false
  }

  /**
   * Runs the rest of a job now, for a caller that must not return before it is done. Pauses after each step,
   * for other requests. It never calls `prepare`: what a job does there, the caller does first.
   */
  async finish(store: Pick<Store, 'write'>, kind: Job['kind'], id: number): Promise<void> {
    for (;;) {
      const begun = performance.now()
      if (!(await store.write((tx) => this.runStep(tx, { kind, id })))) return
      await pauseSince(begun)
    }
  }
}

export const isPending = async (tx: ReadTransaction, kind: Job['kind'], id: number): Promise<boolean> =>
  (await jobs.get(tx, [kind, id])) !== undefined

/** How many jobs are pending, of all kinds. */
export const pendingJobs = async (tx: ReadTransaction): Promise<number> => {
  const kinds = Job.entries.kind.options.map((kind) => [kind])
  return (await jobs.counts(tx, 'kind', kinds)).reduce((sum, count) => sum + count, 0)
}

/**
 * The ids of pending jobs of a kind, for a reader that corrects what its records give for them. It gets no
 * more ids than it has records, so that neither many jobs nor many records make it slow.
 * @param records how many records the reader has, each of one id
 * @param idsOf the ids of all of them
 */
export const pendingAmong = async (
  tx: ReadTransaction,
  kind: Job['kind'],
  records: number,
  idsOf: () => Promise<readonly number[]>,
): Promise<number[]> => {
  const pending = records === 0 ? 0 : await jobs.count(tx, 'kind', [kind])
  if (pending === 0) return []
  if (pending <= records) return (await jobs.list(tx, 'kind', { prefix: [kind] })).map(({ id }) => id)
  const ids = [...new Set(await idsOf())]
  const found = await jobs.getMany(
    tx,
    ids.map((id) => [kind, id]),
  )
  return ids.filter((_, at) => found[at] !== undefined)
}
