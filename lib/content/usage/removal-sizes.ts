/**
 * What the deletion of repositories or of an owner frees, by kind. Ledger entries that the host has put count
 * toward quota, and go with their repository; the files that they stand for are in another system, and stay
 * there. Bytes and numbers come from the counters. Only where a store has entries of both sorts of a kind are
 * entries looked at, at most {@link MAX_READ} by one {@link RemovalSizes}, so that a page answers at once
 * however much an owner has.
 */
import type { IndexEntry } from '../../records/collection.ts'
import {
  type LedgerKind,
  type LedgerRecord,
  ledgerEntries,
  ownerUsages,
  RESERVED_PREFIX,
  type RepositoryUsage,
  repositories,
  repositoryUsages,
} from '../../records/schema/index.ts'
import type { ReadTransaction } from '../../storage/index.ts'
import { ENTRY_KINDS } from './storage-item.ts'

/** Items of one kind that are deleted, or that stay in another system. */
export interface RemovedKind {
  readonly kind: 'git' | LedgerKind
  readonly count: number
  /**
   * Whether there are more than `count`. The bytes are those of all, unless a row of further items follows.
   */
  readonly hasMore: boolean
  readonly bytes: number
  /**
   * Whether this server stores them, so that the deletion frees their bytes; undefined for items that were
   * not looked at.
   */
  readonly isStoredHere: boolean | undefined
}

/**
 * Index entries of items and of repositories that one {@link RemovalSizes} reads at most. The records that
 * they lead to come in addition, at most one for each.
 */
export const MAX_READ = 1000

/**
 * The first text after all keys with the reserved prefix: the prefix ends with a colon, and a semicolon
 * follows it in every order of texts by bytes.
 */
const AFTER_RESERVED = `${RESERVED_PREFIX.slice(0, -1)};`

/** Bytes that a deletion frees for certain; items that were not looked at may free more. */
export const freedBy = (kinds: readonly RemovedKind[]): number =>
  kinds.reduce((sum, { bytes, isStoredHere }) => (isStoredHere ? sum + bytes : sum), 0)

/** Whether the deletion may free more than {@link freedBy} says. */
export const mayFreeMore = (kinds: readonly RemovedKind[]): boolean =>
  kinds.some(({ isStoredHere }) => isStoredHere === undefined)

/** The sizes for one page, within one budget of reads and one transaction. */
export class RemovalSizes {
  readonly #tx: ReadTransaction
  readonly #places = new Map<LedgerKind, Promise<boolean | undefined>>()
  #left = MAX_READ

  constructor(tx: ReadTransaction) {
    this.#tx = tx
  }

  /** What goes with one repository: git data first, and only kinds that it has. */
  async ofRepository(usage: RepositoryUsage): Promise<RemovedKind[]> {
    const sums = new RemovedSums()
    sums.add('git', { count: 1, bytes: usage.git }, true)
    const isListed = this.#take(usage.inMain)
    const listed = isListed ? await this.#inMain(usage) : []
    for (const kind of ENTRY_KINDS) {
      const ofKind = listed.filter((one) => one.kind === kind).map(({ entry }) => entry)
      const further =
        usage.inOverflow === 0 ? 0 : await ledgerEntries.count(this.#tx, 'overflow', [usage.id, kind])
      const all = { count: ofKind.length + further, bytes: bytesOf(usage, kind), hasMore: !isListed }
      const isStoredHere = await this.#isStoredHere(kind)
      if (isStoredHere !== undefined) sums.add(kind, all, isStoredHere)
      else {
        const loaded = (await ledgerEntries.load(this.#tx, ofKind)).map(countedEntry)
        const read = [...loaded, ...(await this.#largest('overflow', usage.id, kind, further))]
        sums.addRead(kind, read, all)
      }
    }
    return sums.kinds()
  }

  /** What goes with owners: all of their repositories, and what belongs to them alone. */
  async ofOwners(owners: readonly number[]): Promise<RemovedKind[]> {
    const sums = new RemovedSums()
    const usages = await ownerUsages.byIds(this.#tx, owners)
    for (const { reposPublic, reposPrivate } of usages.values()) {
      const git = reposPublic + reposPrivate
      if (git !== 0) sums.add('git', { count: 1, bytes: git }, true)
    }
    for (const kind of LFS_LAST)
      for (const [owner, usage] of usages) await this.#addOwned(sums, owner, kind, bytesOf(usage, kind))
    return sums.kinds()
  }

  async #addOwned(sums: RemovedSums, owner: number, kind: LedgerKind, bytes: number): Promise<void> {
    const own = await ledgerEntries.count(this.#tx, 'main', [owner, kind])
    const isStoredHere = await this.#isStoredHere(kind)
    const isRead = isStoredHere === undefined || kind === 'lfs'
    const read = isRead ? await this.#largest('main', owner, kind, own) : []
    const isElsewhere = restOf(bytes, read) > 0
    const { ids, hasMore } = isElsewhere ? await this.#overflowPartitions(owner, kind) : NO_PARTITIONS
    const perPartition = await Promise.all(
      ids.map((id) => ledgerEntries.count(this.#tx, 'overflow', [id, kind])),
    )
    const count = perPartition.reduce((sum, further) => sum + further, own)
    if (isStoredHere !== undefined) {
      sums.add(kind, { count, bytes, hasMore }, isStoredHere)
      return
    }
    for (const [index, id] of ids.entries())
      read.push(...(await this.#largest('overflow', id, kind, perPartition[index]!)))
    sums.addRead(kind, read, { count, bytes, hasMore })
  }

  /** Takes reads from the budget, or none when fewer are left. */
  #take(reads: number): boolean {
    if (reads > this.#left) return false
    this.#left -= reads
    return true
  }

  /**
   * Whether this server stores all entries of a kind, or none of them, in the whole store; undefined when it
   * stores some.
   */
  #isStoredHere(kind: LedgerKind): Promise<boolean | undefined> {
    const known = this.#places.get(kind) ?? placeOf(this.#tx, kind)
    this.#places.set(kind, known)
    return known
  }

  /**
   * The kinds of a repository's entries in the main partition of its owner, which the index says without the
   * records.
   */
  async #inMain({ id }: RepositoryUsage): Promise<{ kind: LedgerKind; entry: IndexEntry }[]> {
    const found: { kind: LedgerKind; entry: IndexEntry }[] = []
    for await (const entry of ledgerEntries.entries(this.#tx, 'inMain', {
      prefix: [id],
    })) {
      const [kind] = ledgerEntries.idOf(entry)
      found.push({ kind: kind as LedgerKind, entry })
    }
    return found
  }

  /** Repositories of an owner that have entries of the kind in overflow partitions. */
  async #overflowPartitions(owner: number, kind: LedgerKind): Promise<{ ids: number[]; hasMore: boolean }> {
    const ids: number[] = []
    const listing = { prefix: [owner], limit: this.#left + 1 }
    const entries =
      kind === 'lfs'
        ? repositories.entries(this.#tx, 'id', listing)
        : repositoryUsages.entries(this.#tx, kind, listing)
    // Records of both collections have the id of the repository.
    for await (const entry of entries) ids.push(repositories.numberOf(entry))
    const read = ids.slice(0, this.#left)
    this.#take(read.length)
    const hasMore = ids.length > read.length
    if (kind !== 'lfs') return { ids: read, hasMore }
    const usages = await repositoryUsages.byIds(this.#tx, read)
    const partitioned = read.filter((id) => (usages.get(id)?.inOverflow ?? 0) > 0)
    return { ids: partitioned, hasMore }
  }

  /** The largest entries of a listing, as far as the budget allows: their index keys say all that counts. */
  async #largest(
    index: 'main' | 'overflow',
    id: number,
    kind: LedgerKind,
    count: number,
  ): Promise<CountedEntry[]> {
    const limit = Math.min(count, this.#left)
    const found: CountedEntry[] = []
    if (limit === 0) return found
    this.#take(limit)
    for await (const entry of ledgerEntries.entries(this.#tx, index, { prefix: [id, kind], limit })) {
      const [negativeSize] = ledgerEntries.orderOf(entry)
      const [, key] = ledgerEntries.idOf(entry)
      found.push(countedEntry({ size: 0 - (negativeSize as number), key: key as string }))
    }
    return found
  }
}

/**
 * No index says which repositories of an owner have LFS objects in overflow partitions, so all of its
 * repositories may have to be read. That is done last, and only when the objects in the main partition are
 * not all of its bytes.
 */
const LFS_LAST: readonly LedgerKind[] = [...ENTRY_KINDS.filter((kind) => kind !== 'lfs'), 'lfs']

const NO_PARTITIONS = { ids: [], hasMore: false }

const bytesOf = (
  usage: Record<'issues' | 'releases' | Exclude<LedgerKind, 'attachments'>, number>,
  kind: LedgerKind,
): number => (kind === 'attachments' ? usage.issues + usage.releases : usage[kind])

const placeOf = async (tx: ReadTransaction, kind: LedgerKind): Promise<boolean | undefined> => {
  const firstFrom = async (from: string): Promise<string | undefined> => {
    for await (const { key } of ledgerEntries.allFrom(tx, [kind], from)) return key
    return undefined
  }
  const isReserved = (key: string | undefined) => key?.startsWith(RESERVED_PREFIX) ?? false
  const [first, reserved, after] = await Promise.all(['', RESERVED_PREFIX, AFTER_RESERVED].map(firstFrom))
  const hasOthers = (first !== undefined && !isReserved(first)) || after !== undefined
  return isReserved(reserved) && hasOthers ? undefined : isReserved(reserved)
}

interface CountedEntry {
  readonly isStoredHere: boolean
  readonly size: number
}

const countedEntry = ({ key, size }: Pick<LedgerRecord, 'key' | 'size'>): CountedEntry => ({
  isStoredHere: key.startsWith(RESERVED_PREFIX),
  size,
})

/** Bytes of the entries that were not read. */
const restOf = (bytes: number, read: readonly CountedEntry[]): number =>
  read.reduce((rest, { size }) => rest - size, bytes)

interface Amount {
  readonly count: number
  readonly bytes: number
  readonly hasMore?: boolean
}

const KINDS: readonly RemovedKind['kind'][] = ['git', ...ENTRY_KINDS]

class RemovedSums {
  readonly #sums = new Map<string, Required<Amount>>()

  /** @param isStoredHere absent: it is not known */
  add(kind: RemovedKind['kind'], added: Amount, isStoredHere?: boolean): void {
    if (added.count === 0 && added.bytes === 0) return
    const name = `${kind} ${isStoredHere}`
    const { count, bytes, hasMore } = this.#sums.get(name) ?? { count: 0, bytes: 0, hasMore: false }
    this.#sums.set(name, {
      count: count + added.count,
      bytes: bytes + added.bytes,
      hasMore: hasMore || (added.hasMore ?? false),
    })
  }

  /** Adds entries that were looked at, and as one amount the others of the same kind. */
  addRead(kind: LedgerKind, read: readonly CountedEntry[], all: Amount): void {
    for (const { isStoredHere, size } of read) this.add(kind, { count: 1, bytes: size }, isStoredHere)
    const rest = restOf(all.bytes, read)
    const others = Math.max(0, all.count - read.length)
    if (rest > 0) this.add(kind, { ...all, count: others, bytes: rest })
  }

  /** What this server stores comes first, and what was not looked at last. */
  kinds(): RemovedKind[] {
    return [true, false, undefined].flatMap((isStoredHere) =>
      KINDS.flatMap((kind) => {
        const sum = this.#sums.get(`${kind} ${isStoredHere}`)
        return sum === undefined ? [] : [{ kind, isStoredHere, ...sum }]
      }),
    )
  }
}
