import { AllotError } from '../errors.ts'
import type { IndexEntry, Listing } from '../records/indexes.ts'
import type { KeyTuple } from '../records/key-codec.ts'
import {
  type Account,
  accounts,
  memberships,
  type RelationCollection,
  repositories,
} from '../records/schema/index.ts'
import type { ReadTransaction } from '../storage/index.ts'

/**
 * The selection for an export of owners: accounts, the repositories that they own, and all that belongs to
 * these alone.
 */
export interface OwnerSelection {
  readonly tx: ReadTransaction
  readonly accounts: ReadonlyMap<number, Account>
  readonly repositories: ReadonlySet<number>
  /** Relations to accounts and repositories that are not selected, by what they are. */
  readonly leftOut: Map<string, number>
}

/**
 * The accounts with these names, and of organizations the members, since an organization needs its owners.
 * @throws AllotError not_found
 */
export const selectOwners = async (
  tx: ReadTransaction,
  names: readonly string[],
): Promise<OwnerSelection> => {
  const selected = new Map<number, Account>()
  for (const name of names) {
    const account = await accounts.findBy(tx, 'name', [name.toLowerCase()])
    if (account === undefined)
      throw new AllotError('not_found', `there is no account ${JSON.stringify(name)}`)
    selected.set(account.id, account)
    const members = await memberships.list(tx, 'organization', { prefix: [account.id] })
    for (const member of (await accounts.referredBy(tx, members, ({ member }) => member)).values())
      selected.set(member.id, member)
  }
  const owned = new Set<number>()
  for (const id of selected.keys())
    for await (const repository of listed(tx, repositories, 'id', [id])) owned.add(repository.id)
  return { tx, accounts: selected, repositories: owned, leftOut: new Map() }
}

/** A collection whose records an ordered index lists. */
export interface Indexed<R, O extends string> {
  entries(tx: ReadTransaction, index: O, listing: Listing): AsyncIterable<IndexEntry>
  load(tx: ReadTransaction, entries: readonly IndexEntry[]): Promise<R[]>
}

const BATCH_SIZE = 500

/** The records of a listing, however many they are. */
export async function* listed<R, O extends string>(
  tx: ReadTransaction,
  collection: Indexed<R, O>,
  index: O,
  prefix: KeyTuple,
): AsyncGenerator<R> {
  let entries: IndexEntry[] = []
  for await (const entry of collection.entries(tx, index, { prefix })) {
    entries.push(entry)
    if (entries.length < BATCH_SIZE) continue
    yield* await collection.load(tx, entries)
    entries = []
  }
  yield* await collection.load(tx, entries)
}

export type Select = (selection: OwnerSelection) => AsyncIterable<unknown>

/** The records that an index has at each of the ids. */
const ofEach = <R, O extends string>(
  ids: (selection: OwnerSelection) => Iterable<number>,
  collection: Indexed<R, O>,
  index: O,
) =>
  async function* (selection: OwnerSelection): AsyncGenerator<R> {
    for (const id of ids(selection)) yield* listed(selection.tx, collection, index, [id])
  }
export const accountIds = ({ accounts }: OwnerSelection) => accounts.keys()
export const repositoryIds = ({ repositories }: OwnerSelection) => repositories
export const ofAccounts = <R, O extends string>(collection: Indexed<R, O>, index: O) =>
  ofEach(accountIds, collection, index)
export const ofRepositories = <R, O extends string>(collection: Indexed<R, O>, index: O) =>
  ofEach(repositoryIds, collection, index)

/** The record that has the id itself. */
export const byId = <R>(
  ids: (selection: OwnerSelection) => Iterable<number>,
  collection: { get(tx: ReadTransaction, id: KeyTuple): Promise<R | undefined> },
) =>
  async function* (selection: OwnerSelection): AsyncGenerator<R> {
    for (const id of ids(selection)) {
      const record = await collection.get(selection.tx, [id])
      if (record !== undefined) yield record
    }
  }

/** The records whose id begins with that of an account. */
export const below = <R>(collection: { all(tx: ReadTransaction, prefix: KeyTuple): AsyncIterable<R> }) =>
  async function* ({ tx, accounts }: OwnerSelection): AsyncGenerator<R> {
    for (const id of accounts.keys()) yield* collection.all(tx, [id])
  }

/** Leaves out records that name an account or a repository that is not selected. */
export const within = <R>(
  name: string,
  records: (selection: OwnerSelection) => AsyncIterable<R>,
  namesOf: (record: R) => { accounts?: readonly number[]; repositories?: readonly (number | null)[] },
): Select =>
  async function* (selection) {
    for await (const record of records(selection)) {
      const { accounts = [], repositories = [] } = namesOf(record)
      const isWithin =
        accounts.every((id) => selection.accounts.has(id)) &&
        repositories.every((id) => id === null || selection.repositories.has(id))
      if (isWithin) yield record
      else leaveOut(selection, name, 1)
    }
  }

/** Counts what an export leaves out. */
export const leaveOut = ({ leftOut }: OwnerSelection, name: string, count: number): void => {
  if (count > 0) leftOut.set(name, (leftOut.get(name) ?? 0) + count)
}

/** How many selected accounts have starred or watch each repository. */
export const countRelations = async ({ tx, accounts }: OwnerSelection, relations: RelationCollection) => {
  const counts = new Map<number, number>()
  for (const id of accounts.keys())
    for await (const { repository } of listed(tx, relations, 'account', [id]))
      counts.set(repository, (counts.get(repository) ?? 0) + 1)
  return counts
}
