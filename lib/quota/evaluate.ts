import { type Subject, subjects, type Usage, usedBy, withAncestors } from './subjects.ts'

/** Limits the sum of some subjects. */
export interface QuotaRule {
  /** Name, unique among the rules. */
  readonly name: string
  /** Bytes; -1 is unlimited. */
  readonly limit: number
  /** The rule measures the sum of these subjects. */
  readonly subjects: readonly Subject[]
}

/** Rules that limit an owner together: of the groups that limit a subject, one that stands is enough. */
export interface QuotaGroup {
  /** Name, unique among the groups. */
  readonly name: string
  /** Rules that must all stand for the group to stand. */
  readonly rules: readonly QuotaRule[]
}

const UNLIMITED = -1

/**
 * Bytes that a rule measures. A subject that the rule lists twice, or together with its parent, counts twice.
 */
export const ruleBytes = (rule: QuotaRule, usage: Usage): number =>
  rule.subjects.reduce((sum, subject) => sum + usedBy(subject, usage), 0)

/** Whether the rule lists the subject or a subject that includes it. */
const covers = (rule: QuotaRule, subject: Subject): boolean =>
  withAncestors(subject).some((ancestor) => rule.subjects.includes(ancestor))

/** Whether the rule limits the subject. Nothing limits `size:wiki`, which is always within quota. */
const limits = (rule: QuotaRule, subject: Subject): boolean =>
  subject !== 'size:wiki' && covers(rule, subject)

/** A limit and what remains below it. */
export interface LimitStatus {
  /** Name of the rule. */
  rule: string
  /** Bytes. */
  limit: number
  /** Bytes until the rule no longer stands; 0 or less when the owner is over. */
  left: number
}

/**
 * A limit stands while bytes are left: at the limit it no longer stands. Where nothing is limited, nothing
 * can be exceeded.
 */
export const stands = (limit: Pick<LimitStatus, 'left'> | undefined): boolean =>
  limit === undefined || limit.left > 0

/**
 * An owner is within quota for a subject while any of the groups that limit it stands, and when none of them
 * limits it.
 */
export const isWithin = (groups: readonly QuotaGroup[], subject: Subject, usage: Usage): boolean =>
  stands(bindingLimit(groups, subject, usage))

/**
 * The limit that the owner meets first. A group is as tight as its tightest rule; since one group that stands
 * is enough, the loosest of those that limit the subject decides.
 * @returns undefined when no group limits the subject, or one of them without a limit
 */
export const bindingLimit = (
  groups: readonly QuotaGroup[],
  subject: Subject,
  usage: Usage,
): LimitStatus | undefined => {
  let loosest: LimitStatus | undefined
  for (const group of groups) {
    if (!groupLimits(group, subject)) continue
    const tightest = tightestRule(group, subject, usage)
    if (tightest === undefined) return undefined
    if (loosest === undefined || tightest.left > loosest.left) loosest = tightest
  }
  return loosest
}

export interface SubjectLimit extends LimitStatus {
  /** The subject that the rule limits. */
  subject: Subject
}

/**
 * The binding limit of each of the given subjects that has one: fewest bytes left first and, where equally
 * many are left, the broadest subject first. So the first one explains why the owner is over quota for any
 * subject at all.
 */
export const bindingLimits = (
  groups: readonly QuotaGroup[],
  usage: Usage,
  among: readonly Subject[] = subjects,
): SubjectLimit[] =>
  among
    .flatMap((subject) => {
      const binding = bindingLimit(groups, subject, usage)
      return binding === undefined ? [] : [{ subject, ...binding }]
    })
    .sort((one, other) => one.left - other.left || depth(one.subject) - depth(other.subject))

/** How usage compares with a limit. */
export type UsageState = 'over' | 'near' | 'within'

/** A limit with what the usage of its owner comes up to. */
export type Compared<Limit> = Limit & {
  readonly state: UsageState
  /** Share of the limit that is used: 1 at the limit, more above it. */
  readonly share: number
}

const STATES: readonly UsageState[] = ['over', 'near', 'within']

/** Share of a limit of 0, which its owner is always over: more than 1, and finite. */
const SHARE_OF_NOTHING = 2

/**
 * Tells for each limit whether its owner is over it or near it. The first result decides the state of the
 * owner: limits that are exceeded come first, those with the largest excess before others, then limits that
 * are near, then the fullest ones.
 * @param warnAt share of a limit, between 0 and 1, from which usage is near it; 1 turns that off
 */
export const compareLimits = <Limit extends Pick<LimitStatus, 'limit' | 'left'>>(
  limits: readonly Limit[],
  warnAt: number,
): Compared<Limit>[] =>
  limits
    .map((status) => {
      const { limit, left } = status
      const used = limit - left
      const state: UsageState = !stands(status) ? 'over' : used >= limit * warnAt ? 'near' : 'within'
      return { ...status, state, share: limit > 0 ? used / limit : SHARE_OF_NOTHING }
    })
    .sort(
      (one, other) =>
        STATES.indexOf(one.state) - STATES.indexOf(other.state) ||
        (one.state === 'within' ? other.share - one.share : one.left - other.left),
    )

const distinct = new WeakMap<readonly QuotaGroup[], readonly Subject[]>()

/**
 * The broadest of the subjects that the same limits cover: the others have the same binding limit. Reports
 * about all owners evaluate only these few subjects.
 */
export const distinctSubjects = (groups: readonly QuotaGroup[]): readonly Subject[] => {
  const known = distinct.get(groups)
  if (known !== undefined) return known
  const byRules = new Map<string, Subject>()
  for (const subject of subjects.toSorted((left, right) => depth(left) - depth(right))) {
    const covering = groups.map(({ rules }) => rules.map((rule) => covers(rule, subject)))
    const key = JSON.stringify(covering)
    if (subject !== 'size:wiki' && !byRules.has(key)) byRules.set(key, subject)
  }
  const found = [...byRules.values()]
  distinct.set(groups, found)
  return found
}

/** The subject whose limit the owner meets first; `size:all` when no rule limits any. */
export const bindingSubject = (groups: readonly QuotaGroup[], usage: Usage): Subject =>
  bindingLimits(groups, usage)[0]?.subject ?? 'size:all'

const depth = (subject: Subject): number => withAncestors(subject).length

/** Whether the group decides about the subject. A rule without a limit does so too: it allows all of it. */
const groupLimits = ({ rules }: QuotaGroup, subject: Subject): boolean =>
  rules.some((rule) => limits(rule, subject))

const tightestRule = (group: QuotaGroup, subject: Subject, usage: Usage): LimitStatus | undefined => {
  let tightest: LimitStatus | undefined
  for (const rule of group.rules) {
    if (rule.limit === UNLIMITED || !limits(rule, subject)) continue
    const left = rule.limit - ruleBytes(rule, usage)
    if (tightest === undefined || left < tightest.left)
      tightest = { rule: rule.name, limit: rule.limit, left }
  }
  return tightest
}

interface RuleExplanation extends QuotaRule {
  /**
   * Whether the rule lists the subject in question, or one that includes it. It limits the subject then,
   * except `size:wiki`.
   */
  covers: boolean
  /** Whether the usage is below the limit. */
  stands: boolean
  /** Bytes that the rule measures. */
  used: number
  /** Bytes until the rule no longer stands, negative when it is exceeded; null when it is unlimited. */
  left: number | null
}

interface GroupExplanation {
  /** Name of the group. */
  name: string
  /** Whether one of its rules limits the subject: otherwise the group does not decide about it. */
  limits: boolean
  /** Whether all of its rules that limit the subject stand; null when none does. */
  stands: boolean | null
  /** Rules of the group, with what each of them measures. */
  rules: RuleExplanation[]
}

/** Why an owner is over quota for a subject, or is not. */
export interface QuotaExplanation {
  /** The subject in question. */
  subject: Subject
  /** Whether the owner is over quota for it. */
  over: boolean
  /** Bytes that count toward the subject. */
  used: number
  /**
   * Name of the rule whose limit binds, see {@link bindingLimit}; null when no group limits the subject, or
   * one of them without a limit.
   */
  rule: string | null
  /** The binding limit in bytes. */
  limit: number | null
  /**
   * Bytes until the binding rule no longer stands; 0 or less when the owner is over, null when there is no
   * binding rule.
   */
  left: number | null
  /** Groups of the owner: one that limits the subject and stands is enough. */
  groups: GroupExplanation[]
}

export const explain = (groups: readonly QuotaGroup[], subject: Subject, usage: Usage): QuotaExplanation => {
  const binding = bindingLimit(groups, subject, usage)
  return {
    subject,
    over: !stands(binding),
    used: usedBy(subject, usage),
    rule: binding?.rule ?? null,
    limit: binding?.limit ?? null,
    left: binding?.left ?? null,
    groups: groups.map((group) => explainGroup(group, subject, usage)),
  }
}

const explainGroup = (group: QuotaGroup, subject: Subject, usage: Usage): GroupExplanation => {
  const isLimiting = groupLimits(group, subject)
  return {
    name: group.name,
    limits: isLimiting,
    stands: isLimiting ? stands(tightestRule(group, subject, usage)) : null,
    rules: group.rules.map((rule) => explainRule(rule, subject, usage)),
  }
}

const explainRule = (rule: QuotaRule, subject: Subject, usage: Usage): RuleExplanation => {
  const used = ruleBytes(rule, usage)
  const left = rule.limit === UNLIMITED ? null : rule.limit - used
  return { ...rule, covers: covers(rule, subject), stands: left === null || left > 0, used, left }
}
