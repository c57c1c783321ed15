import { invalid } from '../errors.ts'
import { assignments } from '../records/schema/index.ts'
import type { ReadTransaction } from '../storage/driver.ts'
import type { QuotaRule } from './evaluate.ts'
import { assignedTo } from './groups.ts'
import type { Policy } from './policy.ts'
import { checkName, checkRule } from './rules.ts'

/** Rules, groups and assignments as somebody wants them to be. What is not named stays, unless the plan prunes. */
export interface QuotaPlan {
  rules?: readonly QuotaRule[] | undefined
  /** The names of each group's rules. */
  groups?: readonly { name: string; rules: readonly string[] }[] | undefined
  /** The whole list of groups of each owner that is named. */
  assignments?: readonly { owner: number; groups: readonly string[] }[] | undefined
  /** Removes rules and groups that the plan does not name, and takes the groups from owners that it does not name. */
  prune?: boolean | undefined
}

/** One thing before and after; undefined where it is not there. */
export interface Difference<K, T> {
  key: K
  before: T | undefined
  after: T | undefined
}

/** What a plan changes, and nothing that is so already. */
export interface Differences {
  rules: Difference<string, QuotaRule>[]
  groups: Difference<string, readonly string[]>[]
  assignments: Difference<number, readonly string[]>[]
}

/** The policy as it would be. @throws AllotError invalid for what is named twice, or not there to be named. */
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
  const wanted = new Map((plan.assignments ?? []).map((one) => [one.owner, [...one.groups].sort()]))
  const before = await assignedBefore(tx, plan, wanted.keys())
  const after = new Map([...before.keys()].map((owner) => [owner, wanted.get(owner) ?? []]))
  return differing(before, after)
}

/** Of the owners that are named; of every owner, when the plan prunes. */
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
    .filter((one) => JSON.stringify(one.before) !== JSON.stringify(one.after))

const refuseRepeated = (where: string, names: readonly string[] = []) => {
  const seen = new Set<string>()
  const repeated = names.find((name) => seen.size === seen.add(name).size)
  if (repeated !== undefined) throw invalid(`${where}: ${repeated} is named twice`)
}

const refuseUnknown = (
  where: string,
  what: string,
  names: readonly string[],
  known: ReadonlyMap<string, unknown>,
) => {
  const unknown = names.find((name) => !known.has(name))
  if (unknown !== undefined) throw invalid(`${where}: there is no ${what} named ${unknown}`)
}
