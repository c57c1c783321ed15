/** Which groups are assigned to an owner, changes of that within a write, and the removal of groups. */
import { type Actor, recordDifference } from '../audit.ts'
import { AllotError } from '../errors.ts'
import type { JobHandler, Jobs } from '../records/jobs.ts'
import { removeBelongings } from '../records/schema/belongings.ts'
import { accounts, assignments, type Group, groups, quotaOwners, rules } from '../records/schema/index.ts'
import type { WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import type { QuotaGroup } from './evaluate.ts'
import type { Owner } from './owners.ts'
import { toRule } from './rules.ts'

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
  owner: number,
  { group, isAssigned, by }: AssignmentChange,
): Promise<boolean> => {
  const before = await assignedTo(tx, owner)
  const found = isAssigned ? await existingGroup(tx, group) : await groupNamed(tx, group)
  if (found === undefined || before.includes(group) === isAssigned) return false
  if (isAssigned) await assignments.save(tx, { owner, group: found.sequence })
  else await assignments.remove(tx, [owner, found.sequence])
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

/** The groups of an owner, in the order of their names, which decides between equal limits. */
export const groupsOf = async (tx: ReadTransaction, owner: number): Promise<Group[]> => {
  const numbers: number[] = []
  for await (const { group } of assignments.all(tx, [owner])) numbers.push(group)
  const found = await groups.byIds(tx, numbers)
  return [...found.values()].sort((one, other) => byUtf8(one.name, other.name))
}

/** The order of names in keys. */
export const byUtf8 = (left: string, right: string): number =>
  Buffer.compare(Buffer.from(left), Buffer.from(right))

/** Names of the groups that are assigned to an owner. */
export const assignedTo = async (tx: ReadTransaction, owner: number): Promise<string[]> =>
  (await groupsOf(tx, owner)).map(({ name }) => name)

export const groupNamed = (tx: ReadTransaction, name: string): Promise<Group | undefined> =>
  groups.findBy(tx, 'name', [name])

/** A group with its rules. */
export const withRules = async (tx: ReadTransaction, group: Group): Promise<QuotaGroup> => {
  const found = await rules.byNames(tx, group.rules)
  return { name: group.name, rules: found.map(toRule) }
}

/** @throws AllotError not_found */
export const existingGroup = async (tx: ReadTransaction, name: string): Promise<Group> => {
  const group = await groupNamed(tx, name)
  if (group === undefined) throw missing('group', name)
  return group
}

/**
 * Removes a group, which limits no owner from then on. A job takes it from its owners.
 * @param limit assignments to remove in this transaction at most
 * @returns how many were removed
 */
export const removeGroup = async (
  tx: WriteContext,
  jobs: Jobs,
  { sequence }: Group,
  limit = jobs.limits.maxPerTransaction,
): Promise<number> => {
  await groups.remove(tx, [sequence])
  return jobs.runNow(tx, 'removeAssignments', sequence, limit)
}

/** Takes a deleted group from its owners. */
export const removeAssignmentsJob: JobHandler = {
  step: (tx, sequence, limit) => removeBelongings(tx, 'group', sequence, 'later', limit),
}

export const missing = (what: string, name: string) =>
  new AllotError('not_found', `there is no ${what} named ${name}`)
