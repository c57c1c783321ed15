/**
 * Partitions: the entries of an owner are listed by size, from two kinds of partitions.
 *
 *   owner's partition        the first `maxPerTransaction` entries of each repository, and entries of no repository
 *   repository's partition   the further entries of one repository (`partitionOwner` of the entry is null)
 *
 * Most repositories have few entries, so a list reads one index however many repositories the owner has. A transfer
 * rewrites the entries in the owner's partition, a bounded number; the repository's partition goes along unchanged,
 * and disappears from every list at once when the repository is deleted. A list merges the owner's partition with those
 * of its repositories; `largest` says where the first entry of a partition can come, so that a page opens few of them.
 */
import { encodeKey } from '../records/key-codec.ts'
import {
  emptyRepositoryPartition,
  type LedgerEntry,
  type LedgerKind,
  type RepositoryUsage,
  repositoryUsages,
} from '../records/schema/index.ts'
import type { Bytes, ReadTransaction } from '../storage/index.ts'

/** The kinds whose entries the API lists. LFS objects are counted, and {@link entryListings} has them for the pages. */
export type ListedKind = Exclude<LedgerKind, 'lfs'>

/** `partitionOwner` of a new entry of a repository. */
export const partitionFor = (
  repository: RepositoryUsage,
  maxPerTransaction: number,
): LedgerEntry['partitionOwner'] =>
  repository.inOwnerPartition < maxPerTransaction ? repository.owner : null

/** Counts of the repository's partition with one entry more, or one entry less. */
export const countInRepositoryPartition = (
  repository: RepositoryUsage,
  { kind, size }: LedgerEntry,
  sign: 1 | -1,
): Pick<RepositoryUsage, 'inRepositoryPartition' | 'largest'> => {
  const inRepositoryPartition = repository.inRepositoryPartition + sign
  if (inRepositoryPartition === 0) return emptyRepositoryPartition
  const { largest } = repository
  // After a removal `largest` is an upper bound: the partition may be opened too early, which costs time only.
  if (sign === -1 || kind === 'lfs') return { inRepositoryPartition, largest }
  return { inRepositoryPartition, largest: { ...largest, [kind]: Math.max(largest[kind] ?? 0, size) } }
}

/** Where entries of a kind are listed by size. */
interface EntryListing {
  readonly index: 'ownerPartition' | 'repositoryPartition'
  readonly prefix: readonly [id: number, kind: LedgerKind]
  /** The first order key that its entries can have; undefined for any. */
  readonly from: Bytes | undefined
}

/** The listings of all entries of a kind, LFS objects too. @param usages of all repositories of the owner */
export const entryListings = (
  owner: number,
  kind: LedgerKind,
  usages: readonly RepositoryUsage[],
): EntryListing[] => [
  { index: 'ownerPartition', prefix: [owner, kind], from: undefined },
  ...withPartition(usages, kind).map(({ id, lfs, largest }): EntryListing => {
    // No LFS object is larger than all of them together.
    const size = kind === 'lfs' ? Number(lfs) : largest[kind]!
    return { index: 'repositoryPartition', prefix: [id, kind], from: encodeKey([0 - size]) }
  }),
]

/** Repositories whose partitions can have entries of a kind. */
export const withPartition = (usages: readonly RepositoryUsage[], kind: LedgerKind): RepositoryUsage[] =>
  usages.filter(({ inRepositoryPartition, largest }) =>
    kind === 'lfs' ? inRepositoryPartition > 0 : largest[kind] !== null,
  )

/** Repositories of an owner whose partitions have entries, each with the first order key that its entries can have. */
export async function* partitionsOf(
  tx: ReadTransaction,
  owner: number,
  kind: ListedKind,
): AsyncGenerator<[order: number, id: number]> {
  for await (const entry of repositoryUsages.entries(tx, kind, { prefix: [owner] }))
    yield repositoryUsages.orderOf(entry) as [order: number, id: number]
}
