/** Simulates the effect of a plan, or of the deletion of a rule or a group, on owners. */
import type { Page, Slice } from '../records/pages.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { bindingLimit, type LimitStatus, type QuotaGroup, stands } from './evaluate.ts'
import { type OwnerIds, scanOwners } from './owner-scan.ts'
import { applyPlan, type QuotaPlan, refuseUnknown } from './plan.ts'
import { groupResolver, type QuotaDefaults, readPolicy } from './status.ts'
import { type Subject, subjects, type Usage, usedBy } from './subjects.ts'

/** A subject for which a plan would change whether the owner is over quota. */
interface ChangedAnswer {
  /** The subject whose answer changes. */
  subject: Subject
  /** Bytes that count toward the subject. */
  used: number
  /** As the rules and groups are. */
  before: Answer
  /** As they would be. */
  after: Answer
}

interface Answer {
  /** Whether the owner is over quota for the subject. */
  over: boolean
  /** The binding limit; undefined when there are no groups, or one of them does not limit the subject. */
  binding: LimitStatus | undefined
}

export interface ChangedOwner {
  owner: number
  answers: ChangedAnswer[]
}

export interface SimulationOptions {
  /** Default groups to use instead of the configured ones; an unknown name is refused. */
  readonly defaultGroups?: readonly string[] | undefined
  /** A rule or a group that is deleted. */
  readonly without?: { readonly rule?: string | undefined; readonly group?: string | undefined } | undefined
}

/** Lists those who would be over quota after the change and are not now, or the other way round. */
export const changedOwners = async (
  changed: AsyncIterable<OwnerWithOtherGroups>,
  { offset, limit }: Slice,
): Promise<Page<ChangedOwner>> => {
  const items: ChangedOwner[] = []
  let total = 0
  for await (const { owner, before, after, usage } of changed) {
    const answers = changedAnswers(before, after, usage)
    if (answers.length === 0) continue
    if (total++ >= offset && items.length < limit) items.push({ owner, answers })
  }
  return { items, total }
}

export interface OwnerWithOtherGroups {
  readonly owner: number
  readonly usage: Usage
  /** The groups that apply now, and after the change. Owners with the same groups have the same lists. */
  readonly before: readonly QuotaGroup[]
  readonly after: readonly QuotaGroup[]
}

/** The owners to whom other groups apply after the change, or groups with other rules. */
export async function* ownersWithOtherGroups(
  tx: ReadTransaction,
  { defaults, owners }: { readonly defaults: QuotaDefaults; readonly owners: OwnerIds },
  plan: QuotaPlan,
  { defaultGroups, without = {} }: SimulationOptions,
): AsyncGenerator<OwnerWithOtherGroups> {
  const policy = await readPolicy(tx, defaults)
  const planned = applyPlan(plan, policy)
  // Those of the configuration may be unknown: they limit no owner until they are created.
  refuseUnknown('default_groups', 'group', defaultGroups ?? [], planned.groups)
  const groupsBefore = groupResolver(policy)
  const groupsAfter = groupResolver({
    rules: withoutKey(planned.rules, without.rule),
    groups: withoutKey(planned.groups, without.group),
    defaults: { ...defaults, groups: defaultGroups ?? defaults.groups },
  })
  for await (const { owner, usage, assigned } of scanOwners(tx, owners, policy)) {
    const wanted = plan.assignments?.get(owner) ?? (plan.prune ? [] : assigned)
    const [before, after] = [groupsBefore(assigned), groupsAfter(wanted)]
    if (!isSameList(before, after)) yield { owner, usage, before, after }
  }
}

const withoutKey = <T>(values: ReadonlyMap<string, T>, key: string | undefined): ReadonlyMap<string, T> =>
  key === undefined ? values : new Map([...values].filter(([name]) => name !== key))

const texts = new WeakMap<readonly QuotaGroup[], string>()
const textOf = (groups: readonly QuotaGroup[]): string => {
  const text = texts.get(groups) ?? JSON.stringify(groups)
  texts.set(groups, text)
  return text
}

/** Lists of groups are few, each with many owners, so that comparing them is cheap. */
const isSameList = (left: readonly QuotaGroup[], right: readonly QuotaGroup[]): boolean =>
  textOf(left) === textOf(right)

const changedAnswers = (
  before: readonly QuotaGroup[],
  after: readonly QuotaGroup[],
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
  return { binding, over: !stands(binding) }
}
