/** The types of the ledger by name: what an entry of each kind needs, and the operations on entries. */
import type { Subject } from '../../quota/subjects.ts'
import type { LedgerKind } from '../../records/schema/index.ts'

/** Kind and key, which together name a ledger entry. */
export interface LedgerName {
  /** The kind decides toward which subject an entry counts. */
  readonly kind: LedgerKind
  /** The host's own stable name of the entry, of 1 to 255 bytes: putting it again replaces the entry. */
  readonly key: string
}

/** The members of an entry of any kind. */
interface EntryOfKind<K extends LedgerKind> extends LedgerName {
  readonly kind: K
  /** Name in lists, of 1 to 255 characters. */
  readonly name: string
  /** Bytes, a whole number. */
  readonly size: number
  /**
   * For a reservation: the entry counts until this time, and is gone then. A Date or milliseconds since 1970,
   * later than now; a Date in an entry that is returned. A later `put` without it keeps the entry.
   */
  readonly expiresAt?: Date | number | undefined
}

interface EntryInRepository {
  /**
   * The repository that the entry belongs to, as `owner/name`. The entry counts toward the quota of its
   * owner.
   */
  readonly repository: string
  /** Follows from the repository. */
  readonly owner?: undefined
}

interface EntryOfOwner {
  /** Name of the owner, for an entry that belongs to no repository. */
  readonly owner: string
  /** Absent in an entry of an owner alone. */
  readonly repository?: undefined
}

interface Run {
  /** Number of the CI run that made the artifact, for its URL. */
  readonly run: number
}

interface Index {
  /** Number of the issue, or id of the release, for the URL of the attachment. */
  readonly index: number
}

interface AttachmentEntry extends EntryOfKind<'attachments'> {
  /** Target of the attachment, which decides toward which subject the file counts. */
  readonly on: 'issue' | 'release'
}

interface PackageEntry extends EntryOfKind<'packages'> {
  /** Type of the package, such as `npm`. */
  readonly type: string
  /** Version of the package. */
  readonly version: string
}

/**
 * A ledger entry of an Allot. An attachment and an LFS object belong to a repository; an artifact and a
 * package to a repository or to an owner alone.
 */
export type LedgerEntry =
  | (AttachmentEntry & EntryInRepository & Index)
  | (EntryOfKind<'artifacts'> & ((EntryInRepository & Run) | (EntryOfOwner & Partial<Run>)))
  | (PackageEntry & (EntryInRepository | EntryOfOwner))
  | (EntryOfKind<'lfs'> & EntryInRepository)

/** A ledger entry where there are no repositories: each belongs to an owner. Plain files are `artifacts`. */
export type OwnerEntry = EntryOfOwner &
  (
    | (AttachmentEntry & Partial<Index>)
    | (EntryOfKind<'artifacts'> & Partial<Run>)
    | PackageEntry
    | EntryOfKind<'lfs'>
  )

interface Operation<O extends 'put' | 'delete'> {
  /** Whether the entry is put or deleted. */
  readonly op: O
}

/** An operation of a batch. */
export type LedgerOperation<E = LedgerEntry> = (E & Operation<'put'>) | (LedgerName & Operation<'delete'>)

interface PutResult<E> {
  /** Whether the entry replaced one with the same kind and key. */
  replaced: boolean
  /** The entry with the present names of its owner and repository. */
  entry: E
}

/** A condition of {@link Ledger.put} and {@link Ledger.batch}. */
export interface PutOptions {
  /**
   * Stores the entries only if their owners are within quota afterwards: for these subjects, or with `true`
   * for all that an entry counts toward. Usage that is equal to the limit fits. What does not make the sum of
   * a subject grow, such as a smaller size, is not refused for it. False or absent: no condition.
   */
  readonly within?: boolean | readonly Subject[] | undefined
}

/** Which entries {@link Ledger.list} returns. */
export interface LedgerListing {
  /** One kind at a time. */
  readonly kind: LedgerKind
  /** How the keys begin, such as `bucket/`. */
  readonly prefix: string
  /** The last key of the page before; absent for the first page. */
  readonly after?: string | undefined
  /** How many entries at most, 1 to 1,000; 1,000 when absent. */
  readonly limit?: number | undefined
}

/**
 * Records what counts toward quota and is stored in another system, as entries with names that the host
 * chooses.
 */
export interface Ledger<E = LedgerEntry> {
  /**
   * Reads an entry. One that was put over HTTP can lack `run` or `index`, which the HTTP API does not
   * require.
   * @returns the entry with the present names of its owner and repository; undefined when there is none
   */
  get(name: LedgerName): Promise<E | undefined>
  /**
   * Lists entries by their keys, in the order of their Unicode code points, such as to compare them with a
   * bucket.
   * @returns one page: fewer entries than `limit` when there are no more
   * @throws AllotError invalid, with the name of the option that is wrong
   */
  list(options: LedgerListing): Promise<E[]>
  /**
   * Saves the entry, replacing one with the same kind and key, so that the same call twice counts once.
   * @throws AllotError invalid, with the name of the member that is wrong or missing; {@link OverQuotaError}
   * when it is not `within`, and nothing is stored
   */
  put(entry: E, options?: PutOptions): Promise<PutResult<E>>
  /**
   * Deletes an entry.
   * @returns whether the entry existed
   */
  delete(name: LedgerName): Promise<boolean>
  /**
   * Applies all operations, or none.
   * @returns their number
   * @throws AllotError invalid, with the number of the operation, from 1; {@link OverQuotaError} when the
   * owner of an entry that it puts is not `within` after all operations
   */
  batch(operations: readonly LedgerOperation<E>[], options?: PutOptions): Promise<number>
}
