import { type Sum, subtract } from '../integers.ts'
import {
  bindingLimit,
  covers,
  isGroupWithin,
  isRuleWithin,
  isWithin,
  measure,
  type QuotaGroup,
  type QuotaRule,
} from './evaluate.ts'
import { type Subject, type Usage, usedBy } from './subjects.ts'

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
