import { add, type Sum, subtract } from '../integers.ts'
import { lineOf, type Subject, type Usage, usedBy } from './subjects.ts'

/** "Rule: a name, a limit and a list of subjects." The limit is bytes; -1 is unlimited. */
export interface QuotaRule {
  readonly name: string
  readonly limit: number
  readonly subjects: readonly Subject[]
}

/** "Group: a name and a list of rules." */
export interface QuotaGroup {
  readonly name: string
  readonly rules: readonly QuotaRule[]
}

const UNLIMITED = -1

/** Bytes that a rule measures: a subject that is listed twice, or within another, counts each time it is listed. */
export const measure = (rule: QuotaRule, usage: Usage): Sum =>
  rule.subjects.reduce<Sum>((sum, subject) => add(sum, usedBy(subject, usage)), 0)

/** "A rule stands when the sum of the usage of all its subjects is below its limit." */
export const isRuleWithin = (rule: QuotaRule, usage: Usage): boolean =>
  rule.limit === UNLIMITED || measure(rule, usage) < rule.limit

/** Whether the rule lists the subject, or one above it. */
export const covers = (rule: QuotaRule, subject: Subject): boolean =>
  lineOf(subject).some((above) => rule.subjects.includes(above))

/** "A group stands when ALL of its rules stand": of those that cover the subject; when none does, it stands. */
export const isGroupWithin = (group: QuotaGroup, subject: Subject, usage: Usage): boolean =>
  group.rules.every((rule) => !covers(rule, subject) || isRuleWithin(rule, usage))

/** "A group list stands when ANY of its groups stands"; without any group nothing limits the owner. */
export const isWithin = (groups: readonly QuotaGroup[], subject: Subject, usage: Usage): boolean =>
  subject === 'size:wiki' ||
  groups.length === 0 ||
  groups.some((group) => isGroupWithin(group, subject, usage))

/** What still fits below a limit. */
export interface LimitStatus {
  /** Bytes. */
  limit: number
  /** Bytes until the rule no longer stands; 0 or less when the owner is over. */
  remaining: Sum
}

/**
 * The limit that binds: the tightest rule of each group holds that group, and the loosest group holds the owner, for ANY
 * group is enough. Undefined when nothing limits; else the owner is over exactly when nothing is left.
 */
export const bindingLimit = (
  groups: readonly QuotaGroup[],
  subject: Subject,
  usage: Usage,
): LimitStatus | undefined => {
  if (subject === 'size:wiki') return undefined
  let loosest: LimitStatus | undefined
  for (const group of groups) {
    const tightest = tightestRoom(group, subject, usage)
    if (tightest === undefined) return undefined
    if (loosest === undefined || tightest.remaining > loosest.remaining) loosest = tightest
  }
  return loosest
}

const tightestRoom = (group: QuotaGroup, subject: Subject, usage: Usage): LimitStatus | undefined => {
  let tightest: LimitStatus | undefined
  for (const rule of group.rules) {
    if (rule.limit === UNLIMITED || !covers(rule, subject)) continue
    const left = subtract(rule.limit, measure(rule, usage))
    if (tightest === undefined || left < tightest.remaining) tightest = { limit: rule.limit, remaining: left }
  }
  return tightest
}

export interface RuleExplanation {
  name: string
  /** Bytes; -1 is unlimited. */
  limit: number
  subjects: readonly Subject[]
  covers: boolean
  stands: boolean
  /** Bytes that the rule measures. */
  used: Sum
  /** Bytes until the rule no longer stands, negative when it is exceeded; null when it is unlimited. */
  left: Sum | null
}

export interface GroupExplanation {
  name: string
  stands: boolean
  rules: RuleExplanation[]
}

/** Why an owner is, or is not, over quota for a subject. */
export interface QuotaExplanation {
  subject: Subject
  over: boolean
  /** Bytes that count toward the subject. */
  used: Sum
  /** The limit that would be met first in the group that leaves the most room; null when nothing limits. */
  limit: number | null
  left: Sum | null
  groups: GroupExplanation[]
}

export const explain = (groups: readonly QuotaGroup[], subject: Subject, usage: Usage): QuotaExplanation => {
  const binding = bindingLimit(groups, subject, usage)
  return {
    subject,
    over: !isWithin(groups, subject, usage),
    used: usedBy(subject, usage),
    limit: binding?.limit ?? null,
    left: binding?.remaining ?? null,
    groups: groups.map((group) => explainGroup(group, subject, usage)),
  }
}

const explainGroup = (group: QuotaGroup, subject: Subject, usage: Usage): GroupExplanation => ({
  name: group.name,
  stands: subject === 'size:wiki' || isGroupWithin(group, subject, usage),
  rules: group.rules.map((rule) => explainRule(rule, subject, usage)),
})

const explainRule = (rule: QuotaRule, subject: Subject, usage: Usage): RuleExplanation => {
  const used = measure(rule, usage)
  return {
    ...rule,
    covers: covers(rule, subject),
    stands: isRuleWithin(rule, usage),
    used,
    left: rule.limit === -1 ? null : subtract(rule.limit, used),
  }
}
