import { invalid } from '../errors.ts'
import type { Sum } from '../integers.ts'
import { assignments, groups, rules } from '../records/schema/index.ts'
import type { Store, WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { bindingLimit, type LimitStatus, type QuotaGroup, type QuotaRule } from './evaluate.ts'
import { assignedTo } from './groups.ts'
import { type OwnerIds, scanOwners } from './reports.ts'
import { checkName, checkRule, refuseRepeated } from './rules.ts'
import { type GroupResolver, groupResolver, type Policy, type QuotaDefaults, readPolicy } from './status.ts'
import { type Subject, subjects, type Usage, usedBy } from './subjects.ts'

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

/** A subject for which a plan would change whether the owner is over quota. */
export interface ChangedAnswer {
  subject: Subject
  /** Bytes that count toward the subject. */
  used: Sum
  before: Answer
  after: Answer
}

interface Answer {
  over: boolean
  /** The binding limit; undefined when no rule limits the subject. */
  binding: LimitStatus | undefined
}

export interface ChangedOwner {
  owner: number
  answers: ChangedAnswer[]
}

export interface Plans {
  /** What applying the plan would change. */
  differences(tx: ReadTransaction, plan: QuotaPlan): Promise<Differences>
  /** Sequence numbers for the rules and groups that the plan can create, since a transaction cannot draw them itself. */
  numbers(plan: QuotaPlan): Promise<PlanNumbers>
  /** Applies the plan. @returns what it changed */
  apply(tx: WriteContext, plan: QuotaPlan, numbers: PlanNumbers): Promise<Differences>
  /**
   * Lists the owners for whom the plan would change whether they are over quota. Stores nothing.
   * @param defaults default groups to use instead of the configured ones
   */
  simulate(
    tx: ReadTransaction,
    plan: QuotaPlan,
    at: { offset: number; limit: number },
    defaults?: readonly string[],
  ): Promise<{ items: ChangedOwner[]; total: number }>
}

interface PlanNumbers {
  rules: ReadonlyMap<string, number>
  groups: ReadonlyMap<string, number>
}

/** @param onChange called after a durable change, which can concern every owner */
export const createPlans = (
  store: Store,
  defaults: QuotaDefaults,
  owners: OwnerIds,
  onChange: () => void,
): Plans => {
  const readDifferences = async (tx: ReadTransaction, plan: QuotaPlan) => {
    const before = await readPolicy(tx, defaults)
    return differencesOf(tx, plan, before, applyPlan(plan, before))
  }
  const numbersFor = async (kind: 'rule' | 'group', records: readonly { name: string }[] = []) => {
    const numbers = new Map<string, number>()
    for (const { name } of records) numbers.set(name, await store.sequences.next(kind))
    return numbers
  }

  return {
    differences: readDifferences,
    numbers: async (plan) => ({
      rules: await numbersFor('rule', plan.rules),
      groups: await numbersFor('group', plan.groups),
    }),
    async apply(tx, plan, numbers) {
      const differences = await readDifferences(tx, plan)
      await setRules(tx, differences.rules, numbers.rules)
      await setGroups(tx, differences.groups, numbers.groups)
      await setAssignments(tx, differences.assignments)
      tx.afterCommit(onChange)
      return differences
    },
    async simulate(tx, plan, { offset, limit }, defaultGroups = defaults.groups) {
      const before = await readPolicy(tx, defaults)
      const after = { ...applyPlan(plan, before), defaults: { ...defaults, groups: defaultGroups } }
      const groupsBefore = groupResolver(before)
      const groupsAfter = groupResolver(after)
      const wanted = new Map((plan.assignments ?? []).map(({ owner, groups }) => [owner, groups]))
      const page: ChangedOwner[] = []
      let total = 0
      for await (const { owner, usage, assigned } of scanOwners(tx, owners)) {
        const planned = wanted.get(owner) ?? (plan.prune ? [] : assigned)
        const answers = changedAnswers(groupsBefore(assigned), groupsAfter(planned), usage)
        if (answers.length === 0) continue
        if (total++ >= offset && page.length < limit) page.push({ owner, answers })
      }
      return { items: page, total }
    },
  }
}

const changedAnswers = (
  before: ReturnType<GroupResolver>,
  after: ReturnType<GroupResolver>,
  usage: Usage,
): ChangedAnswer[] =>
  subjects
    .map((subject) => ({
      subject,
      used: usedBy(subject, usage),
      before: answerOf(before, subject, usage),
      after: answerOf(after, subject, usage),
    }))
    .filter((answer) => answer.before.over !== answer.after.over)

const answerOf = (groups: readonly QuotaGroup[], subject: Subject, usage: Usage): Answer => {
  const binding = bindingLimit(groups, subject, usage)
  return { binding, over: binding !== undefined && binding.remaining <= 0 }
}

const setRules = async (
  tx: WriteContext,
  differences: Differences['rules'],
  numbers: ReadonlyMap<string, number>,
) => {
  for (const { key, before, after } of differences) {
    if (after === undefined) await rules.remove(tx, [key])
    else {
      const sequence = before === undefined ? numbers.get(key)! : (await rules.get(tx, [key]))!.sequence
      await rules.save(tx, { ...after, subjects: [...after.subjects], sequence })
    }
  }
}

const setGroups = async (
  tx: WriteContext,
  differences: Differences['groups'],
  numbers: ReadonlyMap<string, number>,
) => {
  for (const { key, before, after } of differences) {
    if (after === undefined) await groups.remove(tx, [key])
    else {
      const sequence = before === undefined ? numbers.get(key)! : (await groups.get(tx, [key]))!.sequence
      await groups.save(tx, { name: key, rules: [...after], sequence })
    }
  }
}

const setAssignments = async (tx: WriteContext, differences: Differences['assignments']) => {
  for (const { key: owner, before = [], after = [] } of differences) {
    for (const group of before) if (!after.includes(group)) await assignments.remove(tx, [owner, group])
    for (const group of after) if (!before.includes(group)) await assignments.save(tx, { owner, group })
  }
}
