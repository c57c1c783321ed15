/** What a settled entry of `PushJournal` saves: what is on the disk, and the events of a push. */
import { repositoryById } from '../accounts/find.ts'
import { now } from '../clock.ts'
import type { GitStorage } from '../git/index.ts'
import type { QuotaEngine } from '../quota/index.ts'
import { diskEntries, type Repository, repositories } from '../records/schema/index.ts'
import type { Store } from '../records/store.ts'
import { type ChangedRef, reportedRefs } from '../webhooks/events.ts'
import type { Outbox } from '../webhooks/outbox.ts'

export interface SettleServices {
  readonly store: Store
  readonly quota: QuotaEngine
  /** Undefined when the host keeps repositories itself. */
  readonly gitStorage: GitStorage | undefined
  readonly outbox: Outbox
}

export interface SettledChanges {
  readonly push?: PushedRefs | undefined
  readonly isReported?: boolean
  readonly isCleaned?: boolean | undefined
  readonly by?: 'push' | 'maintenance' | 'maintenance alone' | 'killed'
}

/** References that a push changes, and the id of the account that pushes. */
export interface PushedRefs {
  readonly by: number
  readonly updates: readonly ChangedRef[]
}

export const entryId = (entry: number) => ['push', entry]

/** @returns undefined when the repository was deleted */
export const settleEntry = async (
  ...settled: Parameters<typeof trySettle>
): Promise<Repository | undefined> => {
  for (;;) {
    const after = await trySettle(...settled)
    if (after !== 'retry') return after
  }
}

/** @returns 'retry' when another write has changed the record meanwhile */
const trySettle = async (
  { store, quota, gitStorage, outbox }: SettleServices,
  entry: number,
  id: number,
  { push: given, isReported = true, isCleaned = true, by = 'push' }: SettledChanges,
): Promise<Repository | 'retry' | undefined> => {
  const before = await store.read((tx) => repositoryById(tx, id))
  const inspect = async (storage: GitStorage, repository: Repository) => ({
    measured: await measure(storage, repository),
    push: given && !isReported ? await appliedOf(storage, id, given) : given,
  })
  const found =
    before &&
    gitStorage &&
    (await inspect(gitStorage, before).catch(async (error) => {
      // The files of a repository that is deleted meanwhile cannot be measured. Git may have changed those of
      // another one: this write ends what is kept of its references.
      const left = await store.write(async (tx) => {
        const current = await repositoryById(tx, id)
        if (current !== undefined) await repositories.replace(tx, current, current)
        return current
      })
      if (left !== undefined) throw error
      return undefined
    }))
  return store.write(async (tx) => {
    const current = await repositoryById(tx, id)
    if (!hasSameMeasures(before, current)) return 'retry'
    const noted = await diskEntries.get(tx, entryId(entry))
    // The events of the push are recorded by this write, and not again.
    if (!isCleaned && noted?.what === 'push')
      await diskEntries.replace(tx, noted, { ...noted, pid: null, push: undefined })
    else if (noted !== undefined) await diskEntries.removeLoaded(tx, noted)
    if (current === undefined || found === undefined) return current
    const { measured, push } = found
    const after = { ...current, ...measured, ...marksOf(current, measured, by, push) }
    await quota.repositories.resize(tx, id, measured.size)
    await repositories.replace(tx, current, after)
    // A commit that was taken for failed has recorded them when the entry is gone, or has neither any more.
    const isRecorded = noted?.what !== 'push' || (noted.pid === null && noted.push === undefined)
    if (push !== undefined && !isRecorded) await outbox.recordPush(tx, after, push.by, push.updates)
    return after
  })
}

/** The part of a push that has taken place, of what is reported to webhooks. */
const appliedOf = async (
  gitStorage: GitStorage,
  id: number,
  push: PushedRefs,
): Promise<PushedRefs | undefined> => {
  const updates = await gitStorage.applied(id, reportedRefs(push.updates))
  return updates.length > 0 ? { ...push, updates } : undefined
}

/** The times of a record when something is settled. */
const marksOf = (
  { size, updatedAt, uncleanedSince, pushesWaitUntil }: Repository,
  measured: Measured,
  by: NonNullable<SettledChanges['by']>,
  push: PushedRefs | undefined,
): Pick<Repository, 'updatedAt' | 'uncleanedSince' | 'pushesWaitUntil'> => {
  const isMaintenance = by === 'maintenance' || by === 'maintenance alone'
  const isChanged = push !== undefined || (!isMaintenance && measured.size !== size)
  const isAlone = by === 'maintenance alone' || by === 'killed'
  return {
    updatedAt: push === undefined ? updatedAt : now(),
    uncleanedSince: isChanged ? (uncleanedSince ?? Date.now() - 1) + 1 : uncleanedSince,
    pushesWaitUntil: isAlone ? undefined : pushesWaitUntil,
  }
}

type Measured = Pick<Repository, 'size' | 'empty' | 'defaultBranch'>

/**
 * Measures a repository after a push. When the first push has no default branch, its first branch by name
 * becomes the default.
 */
const measure = async (
  gitStorage: GitStorage,
  { id, empty, defaultBranch: wanted }: Repository,
): Promise<Measured> => {
  // Without this, a disk that is not mounted would count as an empty repository.
  await gitStorage.checkOnDisk(id)
  const branch = empty ? await gitStorage.firstBranch(id, wanted) : wanted
  const defaultBranch = branch ?? wanted
  await gitStorage.setBranch(id, defaultBranch)
  return { size: await gitStorage.size(id), empty: branch === undefined, defaultBranch }
}

const hasSameMeasures = (left: Measured | undefined, right: Measured | undefined): boolean =>
  left?.size === right?.size && left?.empty === right?.empty && left?.defaultBranch === right?.defaultBranch
