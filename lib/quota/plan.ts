import { invalidMember } from '../errors.ts'
import type { Jobs } from '../records/jobs.ts'
import { paced } from '../records/pacing.ts'
import { assignments, groups, rules } from '../records/schema/index.ts'
import type { WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import type { QuotaRule } from './evaluate.ts'
import { assignedTo, byUtf8, existingGroup, groupNamed, removeGroup } from './group-assignments.ts'
import { creationOf, type GivenRule, membersOf, toRule } from './rules.ts'
import { type Policy, type QuotaDefaults, readPolicy, type StoredPolicy } from './status.ts'

interface PlannedGroup {
  /** Name of the group. */
  name: string
  /** Names of its rules. */
  rules: readonly string[]
}

/** The wanted rules, groups and assignments. Everything else stays, unless `prune` is set. */
export interface QuotaPlan {
  /** Rules to create or to change. */
  rules?: readonly GivenRule[] | undefined
  /** Groups to create or to change. */
  groups?: readonly PlannedGroup[] | undefined
  /** Complete list of groups for each owner in it, in the order in which the store lists them. */
  assignments?: ReadonlyMap<number, readonly string[]> | undefined
  /** Removes rules and groups that are not in the plan, and the assignments of owners that are not in it. */
  prune?: boolean | undefined
}

/** A value before and after; undefined where it does not exist. */
export interface Difference<K, T> {
  /** Name of what changes. */
  key: K
  /** Value before. */
  before: T | undefined
  /** Value after. */
  after: T | undefined
}

/** The changes of a plan. Rules, groups and assignments that are already as planned are left out. */
export interface Differences {
  rules: Difference<string, QuotaRule>[]
  groups: Difference<string, readonly string[]>[]
  assignments: Difference<number, readonly string[]>[]
}

/** The changes that applying the plan would make. */
export const differencesOf = async (
  tx: ReadTransaction,
  plan: QuotaPlan,
  defaults: QuotaDefaults,
): Promise<Differences> => {
  const before = await readPolicy(tx, defaults)
  const after = applyPlan(plan, before)
  return {
    rules: differing(before.rules, after.rules),
    groups: differing(before.groups, after.groups),
    assignments: await assignmentDifferences(tx, plan, before),
  }
}

/** Makes the changes of a plan, found in the same transaction. Jobs take deleted groups from their owners. */
export const applyDifferences = async (
  tx: WriteContext,
  jobs: Jobs,
  differences: Differences,
): Promise<void> => {
  await setRules(tx, differences.rules)
  await setGroups(tx, jobs, differences.groups)
  await setAssignments(tx, differences)
}

/**
 * @returns the policy with the plan applied.
 * @throws AllotError invalid for unknown names
 */
export const applyPlan = (plan: QuotaPlan, before: Policy): Policy => {
  const rulesAfter = new Map(plan.prune ? [] : before.rules)
  for (const rule of plan.rules ?? []) rulesAfter.set(rule.name, toRule(rule))
  const groupsAfter = new Map(plan.prune ? [] : before.groups)
  for (const { name, rules: names } of plan.groups ?? []) {
    refuseUnknown(`groups.${name}.rules`, 'rule', names, rulesAfter)
    groupsAfter.set(name, names)
  }
  for (const names of plan.assignments?.values() ?? [])
    refuseUnknown('assignments', 'group', names, groupsAfter)
  return { rules: rulesAfter, groups: groupsAfter, defaults: before.defaults }
}

/** @throws AllotError invalid for the first name that is not known */
export const refuseUnknown = (
  member: string,
  what: string,
  names: readonly string[],
  known: ReadonlyMap<string, unknown>,
) => {
  const unknown = names.find((name) => !known.has(name))
  if (unknown !== undefined) throw invalidMember(member, `there is no ${what} named ${unknown}`)
}

const assignmentDifferences = async (tx: ReadTransaction, plan: QuotaPlan, policy: StoredPolicy) => {
  const before = await assignedBefore(tx, plan, policy)
  const after = new Map([...before.keys()].map((owner) => [owner, plan.assignments?.get(owner) ?? []]))
  return differing(before, after)
}

/** Present groups of the owners in the plan, or of all owners when the plan prunes. */
const assignedBefore = async (
  tx: ReadTransaction,
  { assignments: planned, prune }: QuotaPlan,
  { names }: StoredPolicy,
) => {
  const before = new Map<number, readonly string[]>()
  for await (const owner of paced(planned?.keys() ?? [])) before.set(owner, await assignedTo(tx, owner))
  if (!prune) return before
  for await (const { owner, group } of paced(assignments.all(tx))) {
    const name = planned?.has(owner) ? undefined : names.get(group)
    if (name !== undefined) before.set(owner, [...(before.get(owner) ?? []), name].sort(byUtf8))
  }
  return before
}

const differing = <K, T>(before: ReadonlyMap<K, T>, after: ReadonlyMap<K, T>): Difference<K, T>[] =>
  [...new Set([...before.keys(), ...after.keys()])]
    .map((key) => ({ key, before: before.get(key), after: after.get(key) }))
    .filter((value) => JSON.stringify(value.before) !== JSON.stringify(value.after))

const setRules = async (tx: WriteContext, differences: Differences['rules']) => {
  for (const { key, after } of differences) {
    if (after === undefined) await rules.remove(tx, [key])
    else {
      const kept = (await rules.get(tx, [key])) ?? (await creationOf(tx, 'rule'))
      await rules.save(tx, { ...kept, name: key, ...membersOf(after) })
    }
  }
}

const setGroups = async (tx: WriteContext, jobs: Jobs, differences: Differences['groups']) => {
  let left = jobs.limits.maxPerTransaction
  for (const { key, after } of differences) {
    const before = await groupNamed(tx, key)
    if (after === undefined) left -= await removeGroup(tx, jobs, before!, left)
    else {
      const kept = before ?? (await creationOf(tx, 'group'))
      await groups.save(tx, { ...kept, name: key, rules: [...after] })
    }
  }
}

const setAssignments = async (tx: WriteContext, differences: Differences) => {
  const deleted = new Set(differences.groups.flatMap(({ key, after }) => (after === undefined ? [key] : [])))
  const numbers = new Map<string, number>()
  const numberOf = async (name: string): Promise<number> => {
    const number = numbers.get(name) ?? (await existingGroup(tx, name)).sequence
    numbers.set(name, number)
    return number
  }
  for await (const { key: owner, before = [], after = [] } of paced(differences.assignments)) {
    for (const name of before)
      if (!after.includes(name) && !deleted.has(name))
        await assignments.remove(tx, [owner, await numberOf(name)])
    for (const name of after)
      if (!before.includes(name)) await assignments.save(tx, { owner, group: await numberOf(name) })
  }
}
