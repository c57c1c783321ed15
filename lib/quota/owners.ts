import type { WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'

/** A user, an organization or a name of the host, whose usage is counted. */
export interface Owner {
  /** Identifies the owner. */
  readonly id: number
  /** Name of the owner. */
  readonly name: string
}

/**
 * Id of an owner that does not exist yet, where the host may name any: it has no usage and no group. It
 * differs from the id of `OPERATOR` (lib/accounts/access.ts), so that the audit log does not take a sender
 * without usage for the command line.
 */
export const NO_OWNER = -1

/**
 * Finds owners by name, and names them by id. With `createAllot` they are users and organizations, with
 * `createQuota` names that the host chooses.
 */
export interface OwnerDirectory {
  /** Name of an owner's kind in messages, such as `user or organization`. */
  readonly title: string
  /**
   * @returns undefined for an unknown name, or an owner with the id {@link NO_OWNER} where `claim` would
   * create it
   */
  find(tx: ReadTransaction, name: string): Promise<Owner | undefined>
  /**
   * Finds the owner for a change that gives it an entry or a group.
   * @returns undefined for an unknown name
   */
  claim(tx: WriteContext, name: string): Promise<Owner | undefined>
  /** The owners that exist, by id. */
  byIds(tx: ReadTransaction, ids: readonly number[]): Promise<ReadonlyMap<number, Owner>>
  /** Ids of all owners, in ascending order. */
  ids(tx: ReadTransaction): AsyncIterable<number>
}
