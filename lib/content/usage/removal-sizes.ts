/**
 * What the deletion of repositories or of an owner frees, by kind. Ledger entries that the host has put count toward quota,
 * and go with their repository; the files that they stand for are in another system, and stay there.
 */
import { setImmediate } from 'node:timers/promises'
import { add, type Sum } from '../../integers.ts'
import { decodeKey, type KeyTuple } from '../../records/key-codec.ts'
import {
  type LedgerKind,
  ledgerEntries,
  RESERVED_PREFIX,
  type RepositoryUsage,
  repositories,
  repositoryUsages,
} from '../../records/schema/index.ts'
import type { ReadTransaction } from '../../storage/index.ts'
import { ENTRY_KINDS } from './storage-item.ts'

/** Things of one kind that are deleted, or that stay in another system. */
export interface RemovedKind {
  readonly kind: 'git' | LedgerKind
  readonly count: number
  readonly bytes: Sum
  /** Whether this server stores them, so that the deletion frees their bytes. */
  readonly isStoredHere: boolean
}

/** Entries that are read between two turns of the event loop. */
const YIELD_EVERY = 500

/** What goes with one repository: git data first, and only kinds that it has. */
export const sizesOfRepository = async (
  tx: ReadTransaction,
  usage: RepositoryUsage,
): Promise<RemovedKind[]> => {
  const sums = new RemovedSums()
  sums.add('git', true, usage.git)
  for (const { kind, key, size } of await ledgerEntries.list(tx, 'repository', { prefix: [usage.id] }))
    sums.add(kind, key.startsWith(RESERVED_PREFIX), size)
  await sums.addPartition(tx, usage)
  return sums.kinds()
}

/** What goes with owners: all of their repositories, and what belongs to them alone. */
export const sizesOfOwners = async (
  tx: ReadTransaction,
  owners: readonly number[],
): Promise<RemovedKind[]> => {
  const sums = new RemovedSums()
  for (const owner of owners) {
    for (const kind of ENTRY_KINDS) await sums.addListed(tx, 'size', [owner, kind])
    const owned = await repositories.list(tx, 'id', { prefix: [owner] })
    const usages = await repositoryUsages.byIds(
      tx,
      owned.map(({ id }) => id),
    )
    for (const usage of usages.values()) {
      sums.add('git', true, usage.git)
      await sums.addPartition(tx, usage)
    }
  }
  return sums.kinds()
}

/** Bytes that a deletion frees. */
export const freedBy = (kinds: readonly RemovedKind[]): Sum =>
  kinds.reduce<Sum>((sum, { bytes, isStoredHere }) => (isStoredHere ? add(sum, bytes) : sum), 0)

const KINDS: readonly RemovedKind['kind'][] = ['git', ...ENTRY_KINDS]

class RemovedSums {
  readonly #sums = new Map<string, { count: number; bytes: Sum }>()
  #read = 0

  add(kind: RemovedKind['kind'], isStoredHere: boolean, bytes: Sum): void {
    const key = `${kind} ${isStoredHere}`
    const { count, bytes: before } = this.#sums.get(key) ?? { count: 0, bytes: 0 }
    this.#sums.set(key, { count: count + 1, bytes: add(before, bytes) })
  }

  /** The further entries of a repository with many. */
  async addPartition(tx: ReadTransaction, { id, inRepositoryPartition }: RepositoryUsage): Promise<void> {
    if (inRepositoryPartition === 0) return
    for (const kind of ENTRY_KINDS) await this.addListed(tx, 'partition', [id, kind])
  }

  /** Adds the entries of a listing by size, whose index keys say all that counts: no record is read. */
  async addListed(tx: ReadTransaction, index: 'size' | 'partition', prefix: KeyTuple): Promise<void> {
    for await (const { order } of ledgerEntries.entries(tx, index, { prefix })) {
      const [size, , kind, key] = decodeKey(order) as [number, string, LedgerKind, string]
      this.add(kind, key.startsWith(RESERVED_PREFIX), 0 - size)
      if (++this.#read % YIELD_EVERY === 0) await setImmediate()
    }
  }

  /** What this server stores comes first. */
  kinds(): RemovedKind[] {
    return [true, false].flatMap((isStoredHere) =>
      KINDS.flatMap((kind) => {
        const sum = this.#sums.get(`${kind} ${isStoredHere}`)
        return sum === undefined ? [] : [{ kind, isStoredHere, ...sum }]
      }),
    )
  }
}
