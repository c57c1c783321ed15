import { invalidMember } from '../errors.ts'
import { paced } from '../records/pacing.ts'
import { assignments } from '../records/schema/index.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { assignedTo, byUtf8 } from './assigned-groups.ts'
import { type Difference, type Differences, differing } from './policy-changes.ts'
import { type GivenRule, toRule } from './rule-checks.ts'
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

/** The changes that applying the plan would make. */
export const differencesOf = async (
  tx: ReadTransaction,
  plan: QuotaPlan,
  defaults: QuotaDefaults,
): Promise<Differences> => {
  const before = await readPolicy(tx, defaults)
  const after = applyPlan(plan, before)
  return {
    rules: between(before.rules, after.rules),
    groups: between(before.groups, after.groups),
    assignments: await assignmentDifferences(tx, plan, before),
  }
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
  return between(before, after)
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

const between = <K, T>(before: ReadonlyMap<K, T>, after: ReadonlyMap<K, T>): Difference<K, T>[] =>
  differing(
    [...new Set([...before.keys(), ...after.keys()])].map((key) => ({
      key,
      before: before.get(key),
      after: after.get(key),
    })),
  )
