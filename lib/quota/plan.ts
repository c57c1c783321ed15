import { invalid } from '../errors.ts'
import { assignments } from '../records/schema/index.ts'
import type { ReadTransaction } from '../storage/index.ts'
import type { QuotaRule } from './evaluate.ts'
import { assignedTo } from './groups.ts'
import type { Policy } from './policy.ts'
import { checkName, checkRule, refuseRepeated } from './rules.ts'

/** The wanted rules, groups and assignments. Everything else stays, unless `prune` is set. */
export interface QuotaPlan {
  rules?: readonly QuotaRule[] | undefined
  /** The names of each group's rules. */
  groups?: readonly { name: string; rules: readonly string[] }[] | undefined
  /** Complete list of groups for each owner in the list. */
  assignments?: readonly { owner: number; groups: readonly string[] }[] | undefined
  /** Removes rules and groups that are not in the plan, and the assignments of owners that are not in it. */
  prune?: boolean | undefined
}

/** A value before and after; undefined where it does not exist. */
export interface Difference<K, T> {
  key: K
  before: T | undefined
  after: T | undefined
}

/** What a plan changes; what is as the plan wants it already is left out. */
export interface Differences {
  rules: Difference<string, QuotaRule>[]
  groups: Difference<string, readonly string[]>[]
  assignments: Difference<number, readonly string[]>[]
}

/** @returns the policy with the plan applied. @throws AllotError invalid for repeated and unknown names */
export const applyPlan = (plan: QuotaPlan, before: Policy): Policy => {
  refuseRepeated(
    'rules',
    plan.rules?.map((rule) => rule.name),
  )
  refuseRepeated(
    'groups',
    plan.groups?.map((group) => group.name),
  )
  for (const rule of plan.rules ?? []) checkRule(rule)
  for (const group of plan.groups ?? []) checkName(group.name)
  const rules = new Map(plan.prune ? [] : before.rules)
  for (const rule of plan.rules ?? []) rules.set(rule.name, rule)
  const groups = new Map(plan.prune ? [] : before.groups)
  for (const { name, rules: names } of plan.groups ?? []) {
    refuseRepeated(`groups.${name}.rules`, names)
    refuseUnknown(`groups.${name}.rules`, 'rule', names, rules)
    groups.set(name, names)
  }
  for (const { groups: names } of plan.assignments ?? []) {
    refuseRepeated('assignments', names)
    refuseUnknown('assignments', 'group', names, groups)
  }
  return { rules, groups, defaults: before.defaults }
}

export const differencesOf = async (
  tx: ReadTransaction,
  plan: QuotaPlan,
  before: Policy,
  after: Policy,
): Promise<Differences> => ({
  rules: differing(before.rules, after.rules),
  groups: differing(before.groups, after.groups),
  assignments: await assignmentDifferences(tx, plan),
})

const assignmentDifferences = async (tx: ReadTransaction, plan: QuotaPlan) => {
  const wanted = new Map((plan.assignments ?? []).map(({ owner, groups }) => [owner, [...groups].sort()]))
  const before = await assignedBefore(tx, plan, wanted.keys())
  const after = new Map([...before.keys()].map((owner) => [owner, wanted.get(owner) ?? []]))
  return differing(before, after)
}

/** Present groups of the owners in the plan, or of all owners when the plan prunes. */
const assignedBefore = async (tx: ReadTransaction, plan: QuotaPlan, named: Iterable<number>) => {
  const before = new Map<number, string[]>()
  for (const owner of named) before.set(owner, (await assignedTo(tx, owner)).sort())
  if (!plan.prune) return before
  for await (const { owner, group } of assignments.all(tx))
    if (!before.get(owner)?.includes(group)) before.set(owner, [...(before.get(owner) ?? []), group].sort())
  return before
}

const differing = <K, T>(before: ReadonlyMap<K, T>, after: ReadonlyMap<K, T>): Difference<K, T>[] =>
  [...new Set([...before.keys(), ...after.keys()])]
    .map((key) => ({ key, before: before.get(key), after: after.get(key) }))
    .filter((value) => JSON.stringify(value.before) !== JSON.stringify(value.after))

const refuseUnknown = (
  member: string,
  what: string,
  names: readonly string[],
  known: ReadonlyMap<string, unknown>,
) => {
  const unknown = names.find((name) => !known.has(name))
  if (unknown !== undefined) throw invalid(`${member}: there is no ${what} named ${unknown}`)
}
