/**
 * What a change of rules, groups or assignments does to owners: who goes over quota, and who has no limit any
 * more.
 */
import {
  bindingLimit,
  bindingLimits,
  distinctSubjects,
  type LimitStatus,
  type QuotaGroup,
  type SubjectLimit,
  stands,
} from './evaluate.ts'
import type { OwnerWithOtherGroups } from './simulation.ts'
import type { Subject, Usage } from './subjects.ts'

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
  for await (const { owner, before, after, usage } of changed) {
    affected++
    for (const { name } of after) groupsAfter.add(name)
    if (bindingLimits(after, usage, distinctSubjects(after)).length === 0) unlimited++
    const effect = effectOn(before, after, usage)
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
const effectOn = (
  before: readonly QuotaGroup[],
  after: readonly QuotaGroup[],
  usage: Usage,
): OwnerEffect | undefined => {
  const changed = subjectsOf(before, after).flatMap((subject): SubjectEffect[] => {
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

const subjectsFor = new WeakMap<readonly QuotaGroup[], WeakMap<readonly QuotaGroup[], readonly Subject[]>>()

/**
 * The broadest of the subjects that the same limits cover, before and after; owners share few pairs of lists.
 */
const subjectsOf = (before: readonly QuotaGroup[], after: readonly QuotaGroup[]): readonly Subject[] => {
  const known = subjectsFor.get(before) ?? new WeakMap<readonly QuotaGroup[], readonly Subject[]>()
  subjectsFor.set(before, known)
  const subjects = known.get(after) ?? distinctSubjects([...before, ...after])
  known.set(after, subjects)
  return subjects
}
