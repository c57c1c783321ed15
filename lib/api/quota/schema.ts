import * as v from 'valibot'
import { dateOf } from '../../clock.ts'
import type { QuotaExplanation, QuotaGroup, QuotaRule } from '../../quota/evaluate.ts'
import { MAX_SUBJECTS } from '../../quota/rule-checks.ts'
import type { QuotaStatus } from '../../quota/status.ts'
import { Subject, type Usage, usedBy } from '../../quota/subjects.ts'
import { HISTORY_DAYS } from '../../quota/usage.ts'
import type { DailyUsage } from '../../records/schema/index.ts'
import * as f from '../fields.ts'
import { view } from '../view.ts'

/** The wire format of quota rules, groups, usage and explanations, which several resources share. */

export const bytes = v.number()
/** Bytes left below a limit, negative when it is exceeded; null without a limit. */
export const bytesLeft = v.nullable(bytes)
/** Bytes, or -1 for unlimited. */
const limit = f.givenLimit

/** Names of groups, like those of rules, are sent to administrators only. */
const groupName = v.optional(f.text('free'))

export const QuotaRuleInfo = v.object({
  /** Name of the rule; over HTTP, only administrators see it. */
  name: v.optional(f.text('small')),
  /** Bytes; -1 is unlimited. */
  limit,
  /** The rule measures the sum of these subjects. */
  subjects: v.array(Subject),
})
export type QuotaRuleInfo = v.InferOutput<typeof QuotaRuleInfo>

export const QuotaGroupInfo = v.object({
  /** Name of the group; over HTTP, only administrators see it. */
  name: groupName,
  /** Rules that must all stand for the group to stand. */
  rules: v.array(QuotaRuleInfo),
})
export type QuotaGroupInfo = v.InferOutput<typeof QuotaGroupInfo>

export const QuotaInfo = v.object({
  /** Usage of the owner. */
  used: v.object({
    /** Bytes by category. */
    size: v.object({
      /** Git data. */
      repos: v.object({
        /** Git data of public repositories. */
        public: f.example(bytes, 0),
        /** Git data of private repositories. */
        private: f.example(bytes, 12_288),
      }),
      /** Bytes that git clients store besides git data. */
      git: v.object({
        /** LFS objects. */
        LFS: f.example(bytes, 0),
      }),
      /** Files that are not in git. */
      assets: v.object({
        /** Attachments. */
        attachments: v.object({
          /** Attachments of issues and comments. */
          issues: f.example(bytes, 2048),
          /** Attachments of releases. */
          releases: f.example(bytes, 0),
        }),
        /** Artifacts of CI runs, and plain files. */
        artifacts: f.example(bytes, 1500),
        /** Packages. */
        packages: v.object({
          /** Packages of every type. */
          all: f.example(bytes, 5),
        }),
      }),
    }),
  }),
  /** Groups of the owner: within quota for a subject while one of those that limit it stands. */
  groups: v.array(QuotaGroupInfo),
})
/** Usage and groups of an owner. */
export type QuotaInfo = v.InferOutput<typeof QuotaInfo>

/** Usage at the end of a day on which it changed. */
export const QuotaHistoryDay = v.object({
  /** The day in UTC, such as `2026-11-21`. */
  date: f.text('2026-11-21'),
  /** Usage of `size:all`. */
  all: f.example(bytes, 15_841),
  size: QuotaInfo.entries.used.entries.size,
})
export type QuotaHistoryDay = v.InferOutput<typeof QuotaHistoryDay>

/** At most one entry a day, oldest first; the last one is the present usage. */
export const QuotaHistory = v.array(QuotaHistoryDay)

/** A bounded range in place of pages: there is at most one entry a day. */
export const HistoryQuery = v.object({
  days: f.optionalQuery(
    v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(HISTORY_DAYS)),
    `How many days to look back; ${HISTORY_DAYS} when absent. One response has all of them.`,
  ),
})

/** Bytes in examples: a usage, and the rest of its limit. */
const used = f.example(bytes, 15_841)
const left = v.nullable(f.example(bytes, 1_073_725_983))
const yes = f.example(v.boolean(), true)

export const QuotaExplanationInfo = v.object({
  subject: Subject,
  over: v.boolean(),
  /** Bytes that count toward the subject. */
  used,
  /** The rule whose limit binds; null when the subject is unlimited. */
  rule: v.optional(v.nullable(f.text('small'))),
  /** The binding limit, the one with the fewest bytes left; null when the subject is unlimited. */
  limit: v.nullable(limit),
  left,
  groups: v.array(
    v.object({
      name: groupName,
      /** Whether a rule of the group limits the subject: otherwise the group does not decide about it. */
      limits: yes,
      /** Whether all its rules that limit the subject stand; null when none does. */
      stands: v.nullable(yes),
      rules: v.array(
        v.object({
          ...QuotaRuleInfo.entries,
          covers: yes,
          stands: yes,
          used,
          left,
        }),
      ),
    }),
  ),
})
export type QuotaExplanationInfo = v.InferOutput<typeof QuotaExplanationInfo>

const nameOf = ({ name }: { name: string }, withNames: boolean) => (withNames ? { name } : {})

export const presentRule = (rule: QuotaRule, withNames = true): QuotaRuleInfo => ({
  ...nameOf(rule, withNames),
  limit: rule.limit,
  subjects: [...rule.subjects],
})

const presentGroup = (group: QuotaGroup, withNames = true): QuotaGroupInfo => ({
  ...nameOf(group, withNames),
  rules: group.rules.map((rule) => presentRule(rule, withNames)),
})

export const ruleView = view(QuotaRuleInfo, (rule: QuotaRule) => presentRule(rule))
export const groupView = view(QuotaGroupInfo, (group: QuotaGroup) => presentGroup(group))

export const presentStatus = ({ usage, storedGroups }: QuotaStatus, withNames: boolean): QuotaInfo => ({
  used: { size: presentUsage(usage) },
  groups: storedGroups.map((group) => presentGroup(group, withNames)),
})

const presentUsage = (usage: Usage): QuotaInfo['used']['size'] => ({
  repos: { public: usage.reposPublic, private: usage.reposPrivate },
  git: { LFS: usage.lfs },
  assets: {
    attachments: { issues: usage.issues, releases: usage.releases },
    artifacts: usage.artifacts,
    packages: { all: usage.packages },
  },
})

export const presentHistory = (days: readonly DailyUsage[]): v.InferOutput<typeof QuotaHistory> =>
  days.map((usage) => ({
    date: dateOf(usage.day),
    all: usedBy('size:all', usage),
    size: presentUsage(usage),
  }))

export const presentExplanation = (
  { rule, ...explanation }: QuotaExplanation,
  withNames: boolean,
): QuotaExplanationInfo => ({
  ...explanation,
  ...(withNames ? { rule } : {}),
  groups: explanation.groups.map((group) => ({
    ...nameOf(group, withNames),
    limits: group.limits,
    stands: group.stands,
    rules: group.rules.map((rule) => ({
      ...presentRule(rule, withNames),
      covers: rule.covers,
      stands: rule.stands,
      used: rule.used,
      left: rule.left,
    })),
  })),
})

export const Subjects = v.pipe(v.array(Subject), v.maxLength(MAX_SUBJECTS))

const subject = f.parameter(Subject, 'What the usage and the limits are of.')
export const SubjectQuery = v.object({ subject: f.example(subject, 'size:all') })
/** A query whose subject may be absent: then the one that binds is meant. */
export const AnySubjectQuery = v.object({ subject: v.optional(subject) })
