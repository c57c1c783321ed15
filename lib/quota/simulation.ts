/**
 * What a plan, or the deletion of a rule or a group, would do to owners: whose answers change, who goes over
 * quota, and who has no limit any more.
 */
import type { Page, Slice } from '../records/pages.ts'
import type { ReadTransaction } from '../storage/index.ts'
import {
  bindingLimit,
  bindingLimits,
  distinctSubjects,
  type LimitStatus,
  type QuotaGroup,
  type SubjectLimit,
  stands,
} from './evaluate.ts'
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
  for await (const { owner, change, usage } of changed) {
    const answers = changedAnswers(change, usage)
    if (answers.length === 0) continue
    if (total++ >= offset && items.length < limit) items.push({ owner, answers })
  }
  return { items, total }
}

export interface OwnerWithOtherGroups {
  readonly owner: number
  readonly usage: Usage
  readonly change: GroupsChange
}

/** The groups that apply now, and after a change. Owners with the same groups share one. */
interface GroupsChange {
  readonly before: readonly QuotaGroup[]
  readonly after: readonly QuotaGroup[]
  readonly isNone: boolean
  /** The broadest of the subjects that the same limits cover, before and after. */
  readonly among: readonly Subject[]
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
  const changes = new Map<string, GroupsChange>()
  for await (const { owner, usage, assigned } of scanOwners(tx, policy, owners(tx), (id) => id)) {
    const wanted = plan.assignments?.get(owner) ?? (plan.prune ? [] : assigned)
    const key = JSON.stringify([assigned, wanted])
    const change = changes.get(key) ?? changeBetween(groupsBefore(assigned), groupsAfter(wanted))
    changes.set(key, change)
    if (!change.isNone) yield { owner, usage, change }
  }
}

const changeBetween = (before: readonly QuotaGroup[], after: readonly QuotaGroup[]): GroupsChange => ({
  before,
  after,
  isNone: JSON.stringify(before) === JSON.stringify(after),
  among: distinctSubjects([...before, ...after]),
})

const withoutKey = <T>(values: ReadonlyMap<string, T>, key: string | undefined): ReadonlyMap<string, T> =>
  key === undefined ? values : new Map([...values].filter(([name]) => name !== key))

const changedAnswers = ({ before, after }: GroupsChange, usage: Usage): ChangedAnswer[] =>
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

/**
 * How the state of an owner changes. Of several subjects with different effects, the first of this list is
 * the owner's.
 */
const effects = ['goes over', 'stays over', 'loses a limit', 'comes back', 'gets a limit'] as const
export type Effect = (typeof effects)[number]

/** The binding limits of a subject before and after a change; undefined where nothing limits it. */
export interface SubjectEffect {
  readonly subject: Subject
  readonly effect: Effect
  readonly before: LimitStatus | undefined
  readonly after: LimitStatus | undefined
}

/** What a change does to one owner. */
export interface OwnerEffect {
  readonly effect: Effect
  /** The subjects with an effect, the one that decides first; never empty. */
  readonly subjects: readonly SubjectEffect[]
  /** The limit that the owner meets first afterwards; undefined without a limit. */
  readonly limit: SubjectLimit | undefined
}

/** What a change does to all owners. */
export interface Effects {
  /** Owners to whom other groups apply afterwards, or groups with other rules. */
  readonly affected: number
  /** How many of them have no limit afterwards. */
  readonly unlimited: number
  /** Names of the groups that apply to affected owners afterwards. */
  readonly groupsAfter: ReadonlySet<string>
  readonly counts: Readonly<Record<Effect, number>>
  /** The first owners with an effect, in the order of {@link effects}. */
  readonly owners: readonly (OwnerEffect & { readonly owner: number })[]
}

/** @param limit owners that are listed at most; all are counted */
export const effectsOf = async (
  changed: AsyncIterable<OwnerWithOtherGroups>,
  limit: number,
): Promise<Effects> => {
  const found = new Map(
    effects.map((effect) => [effect, { count: 0, owners: [] as Effects['owners'][number][] }]),
  )
  const groupsAfter = new Set<string>()
  let [affected, unlimited] = [0, 0]
  for await (const { owner, change, usage } of changed) {
    const { after } = change
    affected++
    for (const { name } of after) groupsAfter.add(name)
    if (bindingLimits(after, usage, distinctSubjects(after)).length === 0) unlimited++
    const effect = effectOn(change, usage)
    if (effect === undefined) continue
    const same = found.get(effect.effect)!
    if (same.count++ < limit) same.owners.push({ owner, ...effect })
  }
  return {
    affected,
    unlimited,
    groupsAfter,
    counts: Object.fromEntries([...found].map(([effect, { count }]) => [effect, count])) as Effects['counts'],
    owners: [...found.values()].flatMap(({ owners }) => owners).slice(0, limit),
  }
}

/** @returns undefined for an owner who is within quota before and after, with limits for the same subjects */
const effectOn = ({ before, after, among }: GroupsChange, usage: Usage): OwnerEffect | undefined => {
  const changed = among.flatMap((subject): SubjectEffect[] => {
    const limits = {
      before: bindingLimit(before, subject, usage),
      after: bindingLimit(after, subject, usage),
    }
    const effect = effectOf(limits.before, limits.after)
    return effect === undefined ? [] : [{ subject, effect, ...limits }]
  })
  const subjects = changed.sort(
    (one, other) =>
      effects.indexOf(one.effect) - effects.indexOf(other.effect) || leftIn(one) - leftIn(other),
  )
  const distinct = subjects.filter(
    (one, index) => subjects.findIndex((other) => isSameChange(one, other)) === index,
  )
  const [first] = distinct
  const [limit] = bindingLimits(after, usage, distinctSubjects(after))
  return first && { effect: first.effect, subjects: distinct, limit }
}

const effectOf = (before: LimitStatus | undefined, after: LimitStatus | undefined): Effect | undefined => {
  // Also for an owner who was over it: without a limit, the owner is not merely back within quota.
  if (after === undefined) return before && 'loses a limit'
  if (!stands(after)) return stands(before) ? 'goes over' : 'stays over'
  if (before === undefined) return 'gets a limit'
  return stands(before) ? undefined : 'comes back'
}

/** A limit that several subjects meet is listed once, with the broadest of them. */
const isSameChange = (one: SubjectEffect, other: SubjectEffect): boolean =>
  one.effect === other.effect &&
  one.before?.rule === other.before?.rule &&
  one.after?.rule === other.after?.rule

/**
 * The fewest bytes until the limit that decides come first. Of limits that are lost, those that the owner was
 * over come first; the others are equal, since the bytes that were left no longer matter: 1 stands for any
 * number above 0.
 */
const leftIn = ({ effect, before, after }: SubjectEffect): number => {
  if (effect === 'loses a limit') return stands(before) ? 1 : before!.left
  return (effect === 'comes back' ? before : after)!.left
}
