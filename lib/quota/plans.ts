import type { Sum } from '../integers.ts'
import { assignments, groups, rules } from '../records/schema/index.ts'
import type { Store, WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/driver.ts'
import { bindingLimit, type LimitStatus, type QuotaGroup } from './evaluate.ts'
import { applyPlan, type Differences, differencesOf, type QuotaPlan } from './plan.ts'
import { type GroupResolver, groupResolver, readPolicy } from './policy.ts'
import { scanOwners } from './scan.ts'
import type { QuotaDefaults } from './status.ts'
import { type Subject, subjects, type Usage, usedBy } from './subjects.ts'

/** How a plan would change the answer for one subject. */
export interface ChangedAnswer {
  subject: Subject
  /** Bytes that count toward the subject. */
  used: Sum
  before: Answer
  after: Answer
}

/** Undefined where nothing limits. */
interface Answer {
  over: boolean
  room: LimitStatus | undefined
}

export interface ChangedOwner {
  owner: number
  answers: ChangedAnswer[]
}

export interface Plans {
  /** What carrying the plan out would change. */
  differences(tx: ReadTransaction, plan: QuotaPlan): Promise<Differences>
  /** Numbers for what the plan may create; they cannot be drawn within a transaction. */
  numbers(plan: QuotaPlan): Promise<PlanNumbers>
  /** Makes everything as the plan says, and answers what that changed. */
  apply(tx: WriteContext, plan: QuotaPlan, numbers: PlanNumbers): Promise<Differences>
  /**
   * The owners who would be over where they are within now, or the other way round. Nothing is stored.
   * @param defaults stands in the place of the configured default groups.
   */
  simulate(
    tx: ReadTransaction,
    plan: QuotaPlan,
    at: { offset: number; limit: number },
    defaults?: readonly string[],
  ): Promise<{ items: ChangedOwner[]; total: number }>
}

export interface PlanNumbers {
  rules: ReadonlyMap<string, number>
  groups: ReadonlyMap<string, number>
}

/** @param onChange called after a change is durable: it may concern every owner. */
export const createPlans = (store: Store, defaults: QuotaDefaults, onChange: () => void): Plans => {
  const differences = async (tx: ReadTransaction, plan: QuotaPlan) => {
    const before = await readPolicy(tx, defaults)
    return differencesOf(tx, plan, before, applyPlan(plan, before))
  }
  const numbered = async (name: 'rule' | 'group', things: readonly { name: string }[] = []) => {
    const numbers = new Map<string, number>()
    for (const thing of things) numbers.set(thing.name, await store.sequences.next(name))
    return numbers
  }

  return {
    differences,
    numbers: async (plan) => ({
      rules: await numbered('rule', plan.rules),
      groups: await numbered('group', plan.groups),
    }),
    async apply(tx, plan, numbers) {
      const made = await differences(tx, plan)
      await setRules(tx, made.rules, numbers.rules)
      await setGroups(tx, made.groups, numbers.groups)
      await setAssignments(tx, made.assignments)
      tx.afterCommit(onChange)
      return made
    },
    async simulate(tx, plan, { offset, limit }, defaultGroups = defaults.groups) {
      const before = await readPolicy(tx, defaults)
      const after = { ...applyPlan(plan, before), defaults: { ...defaults, groups: defaultGroups } }
      const [judged, judge] = [groupResolver(before), groupResolver(after)]
      const wanted = new Map((plan.assignments ?? []).map((one) => [one.owner, one.groups]))
      const page: ChangedOwner[] = []
      let total = 0
      for await (const { owner, usage, assigned } of scanOwners(tx)) {
        const left = plan.prune ? [] : assigned
        const answers = changedAnswers(judged(assigned), judge(wanted.get(owner) ?? left), usage)
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
  const room = bindingLimit(groups, subject, usage)
  return { room, over: room !== undefined && room.remaining <= 0 }
}

const setRules = async (
  tx: WriteContext,
  differing: Differences['rules'],
  numbers: ReadonlyMap<string, number>,
) => {
  for (const { key, before, after } of differing) {
    if (after === undefined) await rules.remove(tx, [key])
    else {
      const sequence = before === undefined ? numbers.get(key)! : (await rules.get(tx, [key]))!.sequence
      await rules.save(tx, { ...after, subjects: [...after.subjects], sequence })
    }
  }
}

const setGroups = async (
  tx: WriteContext,
  differing: Differences['groups'],
  numbers: ReadonlyMap<string, number>,
) => {
  for (const { key, before, after } of differing) {
    if (after === undefined) await groups.remove(tx, [key])
    else {
      const sequence = before === undefined ? numbers.get(key)! : (await groups.get(tx, [key]))!.sequence
      await groups.save(tx, { name: key, rules: [...after], sequence })
    }
  }
}

const setAssignments = async (tx: WriteContext, differing: Differences['assignments']) => {
  for (const { key: owner, before = [], after = [] } of differing) {
    for (const group of before) if (!after.includes(group)) await assignments.remove(tx, [owner, group])
    for (const group of after) if (!before.includes(group)) await assignments.save(tx, { owner, group })
  }
}
