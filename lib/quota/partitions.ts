/**
 * Partitions: the entries of an owner are listed by size, from two kinds of partitions.
 *
 * - The **main** partition of an owner has the first `maxPerTransaction` entries of each repository, and the
 *   entries of no repository.
 * - The **overflow** partition of a repository has its further entries. Their `partitionOwner` is null.
 *
 * Most repositories have few entries, so a list reads one index however many repositories the owner has. A
 * transfer rewrites the entries in the main partition, a bounded number; the overflow partition goes along
 * unchanged, and disappears from every list at once when the repository is deleted. A list merges the main
 * partition with the overflow partitions of the owner's repositories; `largest` says where the first entry of
 * a partition can come, so that a page opens few of them.
 */
import { encodeKey } from '../records/key-codec.ts'
import {
  emptyOverflow,
  type LedgerKind,
  type LedgerRecord,
  type RepositoryUsage,
  repositoryUsages,
} from '../records/schema/index.ts'
import type { Bytes, ReadTransaction } from '../storage/index.ts'

/**
 * The kinds whose entries the API lists. LFS objects are counted, and {@link entryListings} has them for the
 * pages.
 */
export type ListedKind = Exclude<LedgerKind, 'lfs'>

/** `partitionOwner` of a new entry of a repository. */
export const partitionOwnerFor = (
  repository: RepositoryUsage,
  maxPerTransaction: number,
): LedgerRecord['partitionOwner'] => (repository.inMain < maxPerTransaction ? repository.owner : null)

/** Counts of the overflow partition with one entry more, or one entry less. */
export const countInOverflow = (
  repository: RepositoryUsage,
  { kind, size }: LedgerRecord,
  sign: 1 | -1,
): Pick<RepositoryUsage, 'inOverflow' | 'largest'> => {
  const inOverflow = repository.inOverflow + sign
  if (inOverflow === 0) return emptyOverflow
  const { largest } = repository
  // After a removal `largest` is an upper bound: the partition may be opened too early, which costs time
  // only.
  if (sign === -1 || kind === 'lfs') return { inOverflow, largest }
  return { inOverflow, largest: { ...largest, [kind]: Math.max(largest[kind] ?? 0, size) } }
}

/** Where entries of a kind are listed by size. */
export interface EntryListing {
  readonly index: 'main' | 'overflow'
  readonly prefix: readonly [id: number, kind: LedgerKind]
  /** The first order key that its entries can have; undefined for any. */
  readonly from: Bytes | undefined
}

/**
 * The listings of all entries of a kind, LFS objects too.
 * @param usages of all repositories of the owner
 */
export const entryListings = (
  owner: number,
  kind: LedgerKind,
  usages: readonly RepositoryUsage[],
): EntryListing[] => [
  { index: 'main', prefix: [owner, kind], from: undefined },
  ...withOverflow(usages, kind).map(({ id, lfs, largest }): EntryListing => {
    // No LFS object is larger than all of them together.
    const size = kind === 'lfs' ? Number(lfs) : largest[kind]!
    return { index: 'overflow', prefix: [id, kind], from: encodeKey([0 - size]) }
  }),
]

/** Repositories whose overflow partitions can have entries of a kind. */
export const withOverflow = (usages: readonly RepositoryUsage[], kind: LedgerKind): RepositoryUsage[] =>
  usages.filter(({ inOverflow, largest }) => (kind === 'lfs' ? inOverflow > 0 : largest[kind] !== null))

/**
 * Repositories of an owner that have entries in overflow partitions, each with the first order that these can
 * have.
 */
export async function* overflowPartitions(
  tx: ReadTransaction,
  owner: number,
  kind: ListedKind,
): AsyncGenerator<{ order: number; repository: number }> {
  for await (const entry of repositoryUsages.entries(tx, kind, { prefix: [owner] }))
    yield {
      order: repositoryUsages.orderOf(entry)[0] as number,
      repository: repositoryUsages.numberOf(entry),
    }
}
