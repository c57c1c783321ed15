/** Counts what owners and repositories use, and keeps the usage of owners at the end of each day. */
import { today } from '../clock.ts'
import { invalid } from '../errors.ts'
import type { JobHandler, Jobs } from '../records/jobs.ts'
import { removeBelongings } from '../records/schema/belongings.ts'
import {
  type DailyUsage,
  dailyUsages,
  noEntries,
  noLedgerEntries,
  type OfKinds,
  type OwnerUsage,
  ownerUsages,
  type RepositoryUsage,
  repositoryUsages,
} from '../records/schema/index.ts'
import type { WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { noUsage, type Usage, usedBy } from './subjects.ts'

/** Bytes by kind to add to an owner's usage; negative to subtract. */
type UsageDelta = Partial<Usage>

/** What a transaction adds to the counters of an owner. */
interface Delta {
  readonly usage: Usage
  readonly entries: OfKinds
}
const NO_DELTA: Delta = { usage: noUsage, entries: noEntries }

/** The change of an owner's usage by a transaction. */
export interface UsageChange {
  readonly owner: number
  readonly before: Usage
  readonly after: Usage
}

/** Called at the end of a transaction, once for each owner. */
type OnUsageChange = (tx: WriteContext, change: UsageChange) => Promise<void>

/** Bytes that an owner uses at most, so that all sums are exact. */
export const MAX_USED = 2 ** 52

/** @throws AllotError invalid for a sum that no owner may have */
export const checkSum = (bytes: number): number => {
  if (bytes <= MAX_USED) return bytes
  throw invalid(
    `nothing was stored: an owner would use more than ${MAX_USED} bytes (4 PiB), the most that is counted`,
  )
}

/** The usage of each owner, counted in the transaction that changes it. */
export class OwnerCounters {
  readonly #onChange: OnUsageChange
  readonly #deltas = new WeakMap<ReadTransaction, Map<number, Delta>>()
  readonly #days = new WeakMap<WriteContext, number>()

  constructor(onChange: OnUsageChange) {
    this.#onChange = onChange
  }

  /**
   * Adds to an owner's usage: its counter changes once, at the end of the transaction.
   * @param entries how many ledger entries more the owner has, by kind
   */
  add(tx: WriteContext, owner: number, usage: UsageDelta, entries: Partial<OfKinds> = {}): void {
    const deltas = this.#deltas.get(tx) ?? new Map<number, Delta>()
    this.#deltas.set(tx, deltas)
    if (!deltas.has(owner)) tx.beforeCommit(() => this.#save(tx, owner))
    const before = deltas.get(owner) ?? NO_DELTA
    deltas.set(owner, { usage: addDelta(before.usage, usage), entries: addDelta(before.entries, entries) })
  }

  async #save(tx: WriteContext, owner: number): Promise<void> {
    const deltas = this.#deltas.get(tx)!
    const delta = deltas.get(owner) ?? NO_DELTA
    deltas.delete(owner)
    const [isChanged, isRecounted] = [delta.usage, delta.entries].map(isAny)
    if (!isChanged && !isRecounted) return
    const record = await ownerUsages.get(tx, [owner])
    const before = usageOfRecord(record)
    const after = addDelta(before, delta.usage)
    const entries = addDelta(record?.entries ?? noEntries, delta.entries)
    // Entries of 0 bytes change no usage.
    if (!isChanged && record !== undefined) return ownerUsages.replace(tx, record, { ...record, entries })
    const sum = usedBy('size:all', after)
    if (sum > usedBy('size:all', before)) checkSum(sum)
    const day = Math.max(record?.day ?? 0, this.#days.get(tx) ?? today())
    const isNewDay = record !== undefined && record.day < day
    const earlierDays = isNewDay ? await recordDay(tx, record, day) : (record?.earlierDays ?? 0)
    await ownerUsages.replace(tx, record, { owner, ...after, entries, day, earlierDays })
    await this.#onChange(tx, { owner, before, after })
  }

  /** Makes the changes of the transaction those of a day that may be over, in days since 1970. */
  countOn(tx: WriteContext, day: number): void {
    this.#days.set(tx, day)
  }

  /** How the transaction has changed the usage of an owner so far. */
  async change(tx: ReadTransaction, owner: number): Promise<UsageChange> {
    const before = usageOfRecord(await ownerUsages.get(tx, [owner]))
    return { owner, before, after: addDelta(before, this.#deltas.get(tx)?.get(owner)?.usage ?? {}) }
  }

  /** Removes the counter of a deleted owner, of whom nothing is left that counts. */
  async forget(tx: WriteContext, owner: number): Promise<void> {
    this.#deltas.get(tx)?.delete(owner)
    await ownerUsages.remove(tx, [owner])
  }
}

export const usageOfRecord = (record: OwnerUsage | undefined): Usage => {
  if (record === undefined) return noUsage
  const { owner: _, day: __, entries: ___, earlierDays: ____, ...usage } = record
  return usage
}

export const addDelta = <T extends Record<keyof T, number>>(amounts: T, delta: Partial<T>): T => {
  const sum = { ...amounts }
  for (const kind of Object.keys(delta) as (keyof T)[])
    sum[kind] = (sum[kind] + (delta[kind] ?? 0)) as T[keyof T]
  return sum
}

const isAny = (delta: UsageDelta | OfKinds): boolean => Object.values(delta).some((amount) => amount !== 0)

/** Days of history that are kept. */
export const HISTORY_DAYS = 400

/**
 * Records that are checked for their age whenever one is added; more than one, because there are days without
 * a record.
 */
const EXPIRY_BATCH = 3

/**
 * Saves the usage of an earlier day at the first change of a new day. The present record is exact for its own
 * day and for the days without a change after it, so further changes on the same day cost nothing.
 * @returns number of records in the history afterwards
 */
const recordDay = async (tx: WriteContext, before: OwnerUsage, day: number): Promise<number> => {
  await dailyUsages.save(tx, dailyUsageOf(before))
  const oldest = await readOldest(tx, before.owner, EXPIRY_BATCH)
  // The newest record of those that are too old stays: it says what was used until the next one.
  const expired = oldest.filter((_, index) => (oldest[index + 1]?.day ?? day) <= day - HISTORY_DAYS)
  for (const usage of expired) await dailyUsages.remove(tx, [usage.owner, usage.day])
  return before.earlierDays + 1 - expired.length
}

const dailyUsageOf = ({ entries: _, earlierDays: __, ...usage }: OwnerUsage): DailyUsage => usage

/**
 * Usage at the end of each day on which it changed, oldest first; the last entry is the present usage.
 * @param days how many days to look back, at most {@link HISTORY_DAYS}; infinite for every record, of which
 * the first may be older
 */
export const readHistory = async (
  tx: ReadTransaction,
  owner: number,
  days: number,
): Promise<DailyUsage[]> => {
  const past = await readOldest(tx, owner, Number.POSITIVE_INFINITY)
  const current = await ownerUsages.get(tx, [owner])
  return past
    .filter(({ day }) => day >= today() - days)
    .concat(current === undefined ? [] : dailyUsageOf(current))
}

const readOldest = async (tx: ReadTransaction, owner: number, limit: number): Promise<DailyUsage[]> => {
  const found: DailyUsage[] = []
  for await (const usage of dailyUsages.all(tx, [owner])) if (found.push(usage) >= limit) break
  return found
}

/**
 * The usage of each repository. Every operation runs in the transaction that creates, resizes, hides,
 * transfers or deletes a repository, so usage and repository always agree. None changes the ledger entries of
 * the repository: they count for the owner of the repository, and exist as long as its usage does.
 */
export class RepositoryCounters {
  readonly #owners: OwnerCounters
  readonly #jobs: Jobs

  constructor(owners: OwnerCounters, jobs: Jobs) {
    this.#owners = owners
    this.#jobs = jobs
  }

  /** @param repository `git`: bytes of git data, without LFS objects */
  async create(
    tx: WriteContext,
    repository: { id: number; owner: number; private: boolean; git: number },
  ): Promise<void> {
    const usage = { ...repository, ...noLedgerEntries }
    await repositoryUsages.save(tx, usage)
    this.#owners.add(tx, usage.owner, usageOfRepository(usage))
  }

  resize(tx: WriteContext, id: number, git: number): Promise<void> {
    return this.#edit(tx, id, { git })
  }

  setPrivate(tx: WriteContext, id: number, isPrivate: boolean): Promise<void> {
    return this.#edit(tx, id, { private: isPrivate })
  }

  move(tx: WriteContext, id: number, owner: number): Promise<void> {
    return this.#edit(tx, id, { owner })
  }

  /**
   * Removes the repository's usage and its ledger entries, the rest of them by a job.
   * @param limit entries to remove in this transaction at most
   * @returns how many were removed
   */
  async remove(tx: WriteContext, id: number, limit: number): Promise<number> {
    const repository = await existing(tx, id)
    await repositoryUsages.remove(tx, [id])
    this.#take(tx, repository)
    return this.#jobs.runNow(tx, 'removeLedgerEntries', id, limit)
  }

  /**
   * Saves the edited usage and adds the difference to the owner's counters, or to both owners' when it moves.
   */
  async #edit(tx: WriteContext, id: number, edit: Partial<RepositoryUsage>): Promise<void> {
    const before = await existing(tx, id)
    const after = { ...before, ...edit }
    this.#take(tx, before)
    this.#owners.add(tx, after.owner, usageOfRepository(after), after.entries)
    await repositoryUsages.replace(tx, before, after)
  }

  /** Subtracts all that a repository adds to the usage of its owner. */
  #take(tx: WriteContext, repository: RepositoryUsage): void {
    this.#owners.add(
      tx,
      repository.owner,
      negative(usageOfRepository(repository)),
      negative(repository.entries),
    )
  }
}

/** Removes the entries of a deleted repository. */
export const removeEntriesJob: JobHandler = {
  async step(tx, id, limit) {
    if ((await repositoryUsages.get(tx, [id])) !== undefined) return 0
    return removeBelongings(tx, 'repositoryUsage', id, 'later', limit)
  },
}

const existing = async (tx: WriteContext, id: number): Promise<RepositoryUsage> => {
  const usage = await repositoryUsages.get(tx, [id])
  if (usage === undefined) throw new Error(`the repository ${id} has no usage record`)
  return usage
}

/** The usage that a repository adds to that of its owner. */
export const usageOfRepository = (repository: RepositoryUsage): Usage => {
  const { git, lfs, issues, releases, artifacts, packages } = repository
  const [reposPublic, reposPrivate] = repository.private ? [0, git] : [git, 0]
  return { reposPublic, reposPrivate, lfs, issues, releases, artifacts, packages }
}

export const negative = <T extends Record<keyof T, number>>(amounts: T): T =>
  Object.fromEntries(Object.entries<number>(amounts).map(([kind, amount]) => [kind, 0 - amount])) as T
