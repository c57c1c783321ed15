import type { IndexEntry } from '../records/collection.ts'
import { isPending } from '../records/jobs.ts'
import { encodeKey, type KeyTuple } from '../records/key-codec.ts'
import { recordKey } from '../records/layout.ts'
import { merge, pageOf } from '../records/merge.ts'
import type { Slice } from '../records/pages.ts'
import {
  type EntrySize,
  type FirstEntries,
  type LedgerKind,
  type LedgerRecord,
  ledgerEntries,
  noEntries,
  noFirstEntries,
  type OfKinds,
  ownerUsages,
  type RepositoryUsage,
  repositoryUsages,
} from '../records/schema/index.ts'
import type { WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { checkSum, type OwnerCounters } from './usage.ts'

/** An entry as `put` takes it. */
type NewEntry = Omit<LedgerRecord, 'owner' | keyof typeof NO_DETAILS> &
  Partial<Pick<LedgerRecord, keyof typeof NO_DETAILS>> & {
    /** Owner of the repository, or of the entry itself when it belongs to no repository. */
    owner: number
  }

/** The members that only entries of some kinds have. */
const NO_DETAILS = { on: null, index: null, run: null, type: null, version: null }

/** The kinds whose entries the API lists. LFS objects are counted, and the pages list them. */
export type ListedKind = Exclude<LedgerKind, 'lfs'>

/**
 * Called in the transaction that changes the LFS objects of a repository.
 * @param lfs bytes of LFS objects that the repository has now
 */
export type LfsChanged = (tx: WriteContext, repository: number, lfs: number) => Promise<void>

/**
 * Everything that counts toward quota besides git data: one entry per LFS object, attachment, artifact and
 * package. An entry belongs to a repository, with which it moves and disappears, or to an owner alone.
 */
export class LedgerById {
  readonly #counters: OwnerCounters
  readonly #lfsChanged: LfsChanged
  readonly #onExpiring: (expiresAt: number) => void

  /** @param onExpiring called when an entry that expires is stored */
  constructor(counters: OwnerCounters, lfsChanged: LfsChanged, onExpiring: (expiresAt: number) => void) {
    this.#counters = counters
    this.#lfsChanged = lfsChanged
    this.#onExpiring = onExpiring
  }

  async get(tx: ReadTransaction, kind: LedgerKind, key: string): Promise<LedgerRecord | undefined> {
    const entry = await ledgerEntries.get(tx, [kind, key])
    return entry !== undefined && (await isLive(tx, entry)) ? entry : undefined
  }

  /**
   * Entries whose keys begin with a prefix, in the order of the keys.
   * @param after the last key of the page before; unless it begins with the prefix, entries can be missing
   */
  async byKey(
    tx: ReadTransaction,
    kind: LedgerKind,
    { prefix, after = '', limit }: { prefix: string; after?: string | undefined; limit: number },
  ): Promise<LedgerRecord[]> {
    const found: LedgerRecord[] = []
    for await (const entry of ledgerEntries.all(tx, [kind], after || prefix)) {
      if (!entry.key.startsWith(prefix) || found.length === limit) break
      if (entry.key !== after && (await isLive(tx, entry))) found.push(entry)
    }
    return found
  }

  /** Saves the entry, replacing one with the same kind and key: the same entry twice counts once. */
  async put(tx: WriteContext, entry: NewEntry): Promise<{ replaced: boolean }> {
    const { before, wasLive } = await this.#uncount(tx, entry.kind, entry.key)
    const repository = await repositoryOf(tx, entry)
    if (repository === undefined && entry.repository !== null)
      throw new Error(`the repository ${entry.repository} has no usage record`)
    const owner = repository === undefined ? entry.owner : null
    // V8 takes 7 µs, twenty times as long, for a spread after another one whose members it replaces.
    const placed: LedgerRecord = Object.assign({}, NO_DETAILS, entry, { owner })
    await this.#count(tx, repository, placed, 1)
    await ledgerEntries.replace(tx, before, placed)
    const { expiresAt } = entry
    if (expiresAt !== undefined) tx.afterCommit(() => this.#onExpiring(expiresAt))
    return { replaced: wasLive }
  }

  /** @returns whether the entry existed */
  async remove(tx: WriteContext, kind: LedgerKind, key: string): Promise<boolean> {
    const { before, wasLive } = await this.#uncount(tx, kind, key)
    if (before !== undefined) await ledgerEntries.removeLoaded(tx, before)
    return wasLive
  }

  /** Entries of the owner and its repositories, largest first, then by name. */
  async list(tx: ReadTransaction, owner: number, kind: ListedKind, slice: Slice): Promise<LedgerRecord[]> {
    const entries = await pageOf(entriesBySize(tx, owner, [kind], slice.offset + slice.limit), slice)
    return ledgerEntries.load(tx, entries)
  }

  /** How many entries of each kind an owner has, LFS objects too. */
  async counts(tx: ReadTransaction, owner: number): Promise<OfKinds> {
    return (await ownerUsages.get(tx, [owner]))?.entries ?? noEntries
  }

  /**
   * Adds an entry to the usage of its owner and its repository, or subtracts it.
   * @param repository usage of the repository of the entry, as it is now; undefined when it has none
   */
  async #count(
    tx: WriteContext,
    repository: RepositoryUsage | undefined,
    entry: LedgerRecord,
    sign: 1 | -1,
  ): Promise<void> {
    const { kind, size } = entry
    const [counted, bytes] = [countedAs(entry), sign === 1 ? size : 0 - size]
    this.#counters.add(tx, repository?.owner ?? entry.owner!, { [counted]: bytes }, { [kind]: sign })
    if (repository === undefined) return
    const sum = checkSum(repository[counted] + bytes)
    const entries = repository.entries[kind] + sign
    const first = firstEntries(repository.largest[kind], entry, sign, entries)
    await repositoryUsages.replace(tx, repository, {
      ...repository,
      [counted]: sum,
      entries: { ...repository.entries, [kind]: entries },
      largest: { ...repository.largest, [kind]: first },
    })
    if (kind === 'lfs') await this.#lfsChanged(tx, repository.id, sum)
  }

  /**
   * Subtracts an entry that is about to be replaced or removed.
   * @returns the entry, and whether it existed for readers
   */
  async #uncount(
    tx: WriteContext,
    kind: LedgerKind,
    key: string,
  ): Promise<{ before: LedgerRecord | undefined; wasLive: boolean }> {
    const before = await ledgerEntries.get(tx, [kind, key])
    if (before === undefined) return { before, wasLive: false }
    const wasLive = await isLive(tx, before)
    const repository = await repositoryOf(tx, before)
    // The usage of a deleted repository was subtracted as a whole when it was deleted.
    if (repository !== undefined || before.repository === null) await this.#count(tx, repository, before, -1)
    return { before, wasLive }
  }
}

/** Entries of a kind that the usage of a repository names. */
const MAX_FIRST = 2

type Place = Pick<LedgerRecord, 'size' | 'name' | 'key'>
const byPlace = (left: Place, right: Place): number => Buffer.compare(keyOf(left), keyOf(right))
const keyOf = ({ size, name, key }: Place) => encodeKey([0 - size, name, key])

/** Whether an entry must be one of the first. */
export const isBeforeRest = ({ rest } = noFirstEntries, place: Place): boolean =>
  rest === null || byPlace(place, rest) < 0

/**
 * The first entries once there are `entries`, one more or one less. None moves up from the rest: looking for
 * it would make large removals quadratic.
 */
export const firstEntries = (
  before: FirstEntries = noFirstEntries,
  place: Place,
  sign: 1 | -1,
  entries: number,
): FirstEntries => {
  const others = before.first.filter(({ key }) => key !== place.key)
  const isFirst = sign === 1 && isBeforeRest(before, place)
  const sorted = isFirst ? [...others, place].sort(byPlace) : others
  const first = sorted.slice(0, MAX_FIRST)
  return { first, rest: entries > first.length ? (sorted[MAX_FIRST] ?? before.rest) : null }
}

/**
 * Entries of some kinds of an owner and its repositories, largest first. One index has the first ones of each
 * repository, whose others have a listing of their own, which is opened when one of them can be next.
 * @param limit entries that the caller takes at most
 */
export const entriesBySize = (
  tx: ReadTransaction,
  owner: number,
  kinds: readonly LedgerKind[],
  limit: number,
): AsyncIterable<IndexEntry> => {
  const open = (index: 'owner' | 'repo', id: number, kind: LedgerKind, from?: KeyTuple) =>
    ledgerEntries.entries(tx, index, { prefix: [id, kind], from, limit })
  async function* ofRepositories(kind: LedgerKind) {
    for await (const entry of repositoryUsages.entries(tx, kind, { prefix: [owner] })) {
      const [size, name, , key, isEntry] = repositoryUsages.orderOf(entry)
      const listing = isEntry
        ? [{ order: entry.order, recordKey: recordKey(ledgerEntries.options.name, [kind, key!]) }]
        : open('repo', repositoryUsages.numberOf(entry), kind, [size!, name!, kind, key!])
      yield { from: entry.order, listings: [listing] }
    }
  }
  return merge(kinds.map((kind) => merge([open('owner', owner, kind)], false, ofRepositories(kind))))
}

/**
 * Whether the entry exists for readers. Entries of deleted owners and repositories are removed later, by
 * jobs.
 */
const isLive = async (tx: ReadTransaction, entry: LedgerRecord): Promise<boolean> => {
  const owner = entry.owner ?? (await repositoryOf(tx, entry))?.owner
  return owner !== undefined && !(await isPending(tx, 'removeAccountData', owner))
}

const repositoryOf = async (
  tx: ReadTransaction,
  { repository }: Pick<LedgerRecord, 'repository'>,
): Promise<RepositoryUsage | undefined> =>
  repository === null ? undefined : repositoryUsages.get(tx, [repository])

export const countedAs = (entry: Pick<LedgerRecord, 'kind' | 'on'>): EntrySize => {
  if (entry.kind !== 'attachments') return entry.kind
  return entry.on === 'issue' ? 'issues' : 'releases'
}
