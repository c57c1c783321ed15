import { add, subtract } from '../integers.ts'
import { isPending, type JobHandler, type Jobs } from '../records/jobs.ts'
import { paced } from '../records/pacing.ts'
import {
  type LedgerEntry,
  ledgerEntries,
  noOwnEntries,
  type RepositoryUsage,
  repositoryUsages,
} from '../records/schema/index.ts'
import type { WriteContext } from '../records/store.ts'
import type { UsageCounters, UsageDelta } from './usage.ts'

/**
 * Repositories as quota sees them. "A repository that turns private, is renamed, transferred or deleted moves or removes
 * its usage in the same atomic write": every operation here works within the caller's transaction, and changes no more
 * entries than one write may, for a repository lends no more to its owner's shelf (see shelves.ts).
 */
export interface Repositories {
  /** @param git bytes of git data, without LFS. */
  create(
    tx: WriteContext,
    container: { id: number; owner: number; private: boolean; git: number },
  ): Promise<void>
  resize(tx: WriteContext, id: number, git: number): Promise<void>
  setPrivate(tx: WriteContext, id: number, isPrivate: boolean): Promise<void>
  move(tx: WriteContext, id: number, owner: number): Promise<void>
  /** Removes the container, and with it every ledger entry in it: at most so many now. @returns how many now */
  remove(tx: WriteContext, id: number, limit: number): Promise<number>
}

export const createRepositories = (usageCounters: UsageCounters, jobs: Jobs): Repositories => {
  /** Replaces a container and takes the difference to the owner's usage (or both owners', when it moves). */
  const replace = async (
    tx: WriteContext,
    id: number,
    edit: (before: RepositoryUsage) => RepositoryUsage,
  ) => {
    const before = await existing(tx, id)
    const after = edit(before)
    if (after.owner === before.owner) {
      await usageCounters.add(tx, after.owner, plus(usageOf(after), negative(usageOf(before))))
    } else {
      await usageCounters.add(tx, before.owner, negative(usageOf(before)))
      await usageCounters.add(tx, after.owner, usageOf(after))
    }
    await repositoryUsages.save(tx, after)
  }

  return {
    async create(tx, { id, owner, private: isPrivate, git }) {
      const container = { id, owner, private: isPrivate, git, ...empty }
      await repositoryUsages.save(tx, container)
      await usageCounters.add(tx, owner, usageOf(container))
    },
    resize: (tx, id, git) => replace(tx, id, (before) => ({ ...before, git })),
    setPrivate: (tx, id, isPrivate) => replace(tx, id, (before) => ({ ...before, private: isPrivate })),
    async move(tx, id, owner) {
      await replace(tx, id, (before) => ({ ...before, owner }))
      for await (const entry of paced(await lentBy(tx, id))) await ledgerEntries.save(tx, { ...entry, owner })
    },
    async remove(tx, id, limit) {
      const container = await existing(tx, id)
      await repositoryUsages.remove(tx, [id])
      await usageCounters.add(tx, container.owner, negative(usageOf(container)))
      // Nobody reads the shelf of an owner that is gone, so there is no hurry.
      if (await isPending(tx, 'owner', container.owner)) return jobs.runNow(tx, 'entries', id, limit)
      const did = await removeAll(tx, await lentBy(tx, id))
      return did + (await jobs.runNow(tx, 'entries', id, limit - did))
    },
  }
}

/** Removes the entries of a container that is gone. */
export const removeEntriesJob: JobHandler = {
  async step(tx, id, limit) {
    if ((await repositoryUsages.get(tx, [id])) !== undefined) return 0
    const lent = await removeAll(tx, await lentBy(tx, id, limit))
    if (lent === limit) return lent
    const kept = await ledgerEntries.list(tx, 'shelf', { prefix: [id], limit: limit - lent })
    return lent + (await removeAll(tx, kept))
  },
}

const removeAll = async (tx: WriteContext, entries: readonly LedgerEntry[]): Promise<number> => {
  for await (const { kind, key } of paced(entries)) await ledgerEntries.remove(tx, [kind, key])
  return entries.length
}

/** What a container has lent to its owner's shelf. */
const lentBy = (tx: WriteContext, id: number, limit?: number): Promise<LedgerEntry[]> =>
  ledgerEntries.list(tx, 'container', { prefix: [id], ...(limit === undefined ? {} : { limit }) })

const empty = { lfs: 0, issues: 0, releases: 0, artifacts: 0, packages: 0, lent: 0, ...noOwnEntries }

const existing = async (tx: WriteContext, id: number): Promise<RepositoryUsage> => {
  const container = await repositoryUsages.get(tx, [id])
  if (container === undefined) throw new Error(`no container ${id}`)
  return container
}

const usageOf = ({
  lfs,
  issues,
  releases,
  artifacts,
  packages,
  ...container
}: RepositoryUsage): UsageDelta => ({
  lfs,
  issues,
  releases,
  artifacts,
  packages,
  [container.private ? 'reposPrivate' : 'reposPublic']: container.git,
})

const negative = (delta: UsageDelta): UsageDelta =>
  Object.fromEntries(Object.entries(delta).map(([kind, size]) => [kind, subtract(0, size)]))

const plus = (one: UsageDelta, other: UsageDelta): UsageDelta => {
  const sum: UsageDelta = { ...one }
  for (const kind of Object.keys(other) as (keyof UsageDelta)[])
    sum[kind] = add(sum[kind] ?? 0, other[kind] ?? 0)
  return sum
}
