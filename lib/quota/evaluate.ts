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
export const measure = (rule: QuotaRule, usage: Usage): number =>
  rule.subjects.reduce((sum, subject) => sum + usedBy(subject, usage), 0)

/** "A rule stands when the sum of the usage of all its subjects is below its limit." */
export const ruleStands = (rule: QuotaRule, usage: Usage): boolean =>
  rule.limit === UNLIMITED || measure(rule, usage) < rule.limit

/** Whether the rule lists the subject, or one above it. */
export const covers = (rule: QuotaRule, subject: Subject): boolean =>
  lineOf(subject).some((above) => rule.subjects.includes(above))

/** "A group stands when ALL of its rules stand": of those that cover the subject; when none does, it stands. */
export const groupStands = (group: QuotaGroup, subject: Subject, usage: Usage): boolean =>
  group.rules.every((rule) => !covers(rule, subject) || ruleStands(rule, usage))

/** "A group list stands when ANY of its groups stands"; without any group nothing limits the owner. */
export const isWithin = (groups: readonly QuotaGroup[], subject: Subject, usage: Usage): boolean =>
  subject === 'size:wiki' || groups.length === 0 || groups.some((group) => groupStands(group, subject, usage))
