/** Which groups are assigned to an owner, and changes of that within a write. */
import { type Actor, recordDifference } from '../audit.ts'
import { AllotError } from '../errors.ts'
import { accounts, assignments, type Group, groups, quotaOwners } from '../records/schema/index.ts'
import type { WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import type { Owner } from './owners.ts'

/** An owner's id, or a function that finds the owner in the transaction that changes its groups. */
export type OwnerReference = number | ((tx: WriteContext) => Promise<Pick<Owner, 'id'> | undefined>)

export interface AssignmentChange {
  /** Name of the group. */
  group: string
  /** Whether owners get the group, and do not lose it. */
  isAssigned: boolean
  /** Who does that, for the audit log; absent: the host. */
  by?: Actor | undefined
}

/**
 * Assigns a group to an owner, or takes it from the owner.
 * @returns whether that changed anything
 */
export const setAssigned = async (
  tx: WriteContext,
  reference: OwnerReference,
  { group, isAssigned, by }: AssignmentChange,
): Promise<boolean> => {
  const owner = await ownerIn(tx, reference)
  const before = await assignedTo(tx, owner)
  if (isAssigned) await existingGroup(tx, group)
  if (before.includes(group) === isAssigned) return false
  if (isAssigned) await assignments.save(tx, { owner, group })
  else await assignments.remove(tx, [owner, group])
  await recordAssignment(tx, by, owner, before)
  return true
}

export const recordAssignment = async (
  tx: WriteContext,
  by: Actor | undefined,
  owner: number,
  before: readonly string[],
): Promise<void> => {
  if (by === undefined) return
  const record = (await accounts.get(tx, [owner])) ?? (await quotaOwners.get(tx, [owner]))
  const after = await assignedTo(tx, owner)
  await recordDifference(tx, by, {
    action: 'groups assigned',
    subject: record?.name ?? `#${owner}`,
    before,
    after,
  })
}

/**
 * Resolves the owner in the transaction itself, since the account could have been deleted after the request
 * began.
 */
export const ownerIn = async (tx: WriteContext, reference: OwnerReference): Promise<number> => {
  if (typeof reference === 'number') return reference
  const owner = await reference(tx)
  if (owner === undefined) throw new AllotError('not_found', 'there is no such owner')
  return owner.id
}

/** Names of the groups of an owner, also of deleted ones that a job has not taken from the owner yet. */
export const assignedNames = async (tx: ReadTransaction, owner: number): Promise<string[]> =>
  (await assignments.list(tx, 'owner', { prefix: [owner] })).map((assignment) => assignment.group)

/** Names of the groups that are assigned to an owner. */
export const assignedTo = async (tx: ReadTransaction, owner: number): Promise<string[]> => {
  const found = await groups.byNames(tx, await assignedNames(tx, owner))
  return found.map(({ name }) => name)
}

/** @throws AllotError not_found */
export const existingGroup = async (tx: WriteContext, name: string): Promise<Group> => {
  const group = await groups.get(tx, [name])
  if (group === undefined) throw missing('group', name)
  return group
}

export const missing = (what: string, name: string) =>
  new AllotError('not_found', `there is no ${what} named ${name}`)
