import { subtract } from '../integers.ts'
import { isPending, type JobHandler, type Jobs } from '../records/jobs.ts'
import { paced } from '../records/pacing.ts'
import {
  type LedgerEntry,
  ledgerEntries,
  noContents,
  type RepositoryUsage,
  repositoryUsages,
} from '../records/schema/index.ts'
import type { WriteContext } from '../records/store.ts'
import { noUsage } from './subjects.ts'
import { addDelta, type UsageCounters, type UsageDelta } from './usage.ts'

/**
 * The usage of each repository. "A repository that turns private, is renamed, transferred or deleted moves or removes its
 * usage in the same atomic write": every operation runs in the caller's transaction. The number of ledger entries that it
 * changes is bounded, because the owner's partition holds a bounded number of entries of each repository (ledger.ts).
 */
export interface Repositories {
  /** @param repository `git`: bytes of git data, without LFS objects */
  create(
    tx: WriteContext,
    repository: { id: number; owner: number; private: boolean; git: number },
  ): Promise<void>
  resize(tx: WriteContext, id: number, git: number): Promise<void>
  setPrivate(tx: WriteContext, id: number, isPrivate: boolean): Promise<void>
  move(tx: WriteContext, id: number, owner: number): Promise<void>
  /**
   * Removes the repository's usage and its ledger entries, the rest of them by a job.
   * @param limit entries to remove in this transaction at most
   * @returns how many were removed
   */
  remove(tx: WriteContext, id: number, limit: number): Promise<number>
}

export const createRepositories = (usageCounters: UsageCounters, jobs: Jobs): Repositories => {
  /** Saves the edited usage and adds the difference to the owner's counters, or to both owners' when it moves. */
  const replace = async (
    tx: WriteContext,
    id: number,
    edit: (before: RepositoryUsage) => RepositoryUsage,
  ) => {
    const before = await existing(tx, id)
    const after = edit(before)
    const [removed, added] = [negative(usageOf(before)), usageOf(after)]
    if (after.owner === before.owner)
      await usageCounters.add(tx, after.owner, addDelta(addDelta(noUsage, added), removed))
    else {
      await usageCounters.add(tx, before.owner, removed)
      await usageCounters.add(tx, after.owner, added)
    }
    await repositoryUsages.save(tx, after)
  }

  return {
    async create(tx, { id, owner, private: isPrivate, git }) {
      const repository = { id, owner, private: isPrivate, git, ...noContents }
      await repositoryUsages.save(tx, repository)
      await usageCounters.add(tx, owner, usageOf(repository))
    },
    resize: (tx, id, git) => replace(tx, id, (before) => ({ ...before, git })),
    setPrivate: (tx, id, isPrivate) => replace(tx, id, (before) => ({ ...before, private: isPrivate })),
    async move(tx, id, owner) {
      await replace(tx, id, (before) => ({ ...before, owner }))
      for await (const entry of paced(await entriesWithOwner(tx, id)))
        await ledgerEntries.save(tx, { ...entry, owner })
    },
    async remove(tx, id, limit) {
      const repository = await existing(tx, id)
      await repositoryUsages.remove(tx, [id])
      await usageCounters.add(tx, repository.owner, negative(usageOf(repository)))
      // The lists of a deleted owner cannot be read any more, so all of its entries can wait for the job.
      if (await isPending(tx, 'owner', repository.owner)) return jobs.runNow(tx, 'entries', id, limit)
      const removed = await removeAll(tx, await entriesWithOwner(tx, id))
      return removed + (await jobs.runNow(tx, 'entries', id, limit - removed))
    },
  }
}

/** Removes the entries of a deleted repository. */
export const removeEntriesJob: JobHandler = {
  async step(tx, id, limit) {
    if ((await repositoryUsages.get(tx, [id])) !== undefined) return 0
    const removed = await removeAll(tx, await entriesWithOwner(tx, id, limit))
    if (removed === limit) return removed
    const own = await ledgerEntries.list(tx, 'partition', { prefix: [id], limit: limit - removed })
    return removed + (await removeAll(tx, own))
  },
}

const removeAll = async (tx: WriteContext, entries: readonly LedgerEntry[]): Promise<number> => {
  for await (const { kind, key } of paced(entries)) await ledgerEntries.remove(tx, [kind, key])
  return entries.length
}

/** Entries of a repository that are in its owner's partition. */
const entriesWithOwner = (tx: WriteContext, id: number, limit?: number): Promise<LedgerEntry[]> =>
  ledgerEntries.list(tx, 'repository', { prefix: [id], ...(limit === undefined ? {} : { limit }) })

const existing = async (tx: WriteContext, id: number): Promise<RepositoryUsage> => {
  const usage = await repositoryUsages.get(tx, [id])
  if (usage === undefined) throw new Error(`the repository ${id} has no usage record`)
  return usage
}

const usageOf = ({
  lfs,
  issues,
  releases,
  artifacts,
  packages,
  ...repository
}: RepositoryUsage): UsageDelta => ({
  lfs,
  issues,
  releases,
  artifacts,
  packages,
  [repository.private ? 'reposPrivate' : 'reposPublic']: repository.git,
})

const negative = (delta: UsageDelta): UsageDelta =>
  Object.fromEntries(Object.entries(delta).map(([kind, size]) => [kind, subtract(0, size)]))
