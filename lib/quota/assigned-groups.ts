/** Reads groups, and which of them are assigned to an owner. */
import { AllotError } from '../errors.ts'
import { assignments, type Group, groups, rules } from '../records/schema/index.ts'
import type { ReadTransaction } from '../storage/index.ts'
import type { QuotaGroup } from './evaluate.ts'
import { toRule } from './rule-checks.ts'

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
  const found = await rules.getMany(
    tx,
    group.rules.map((name) => [name]),
  )
  return { name: group.name, rules: found.flatMap((rule) => (rule === undefined ? [] : [toRule(rule)])) }
}

/** @throws AllotError not_found */
export const existingGroup = async (tx: ReadTransaction, name: string): Promise<Group> => {
  const group = await groupNamed(tx, name)
  if (group === undefined) throw missing('group', name)
  return group
}

export const missing = (what: string, name: string) =>
  new AllotError('not_found', `there is no ${what} named ${name}`)
