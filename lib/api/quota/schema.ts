import * as v from 'valibot'
import { invalid } from '../../errors.ts'
import type { Sum } from '../../integers.ts'
import type { QuotaExplanation, QuotaGroup, QuotaRule } from '../../quota/evaluate.ts'
import { MAX_SUBJECTS } from '../../quota/rules.ts'
import type { QuotaStatus } from '../../quota/status.ts'
import { Subject, subjects, type Usage, usedBy } from '../../quota/subjects.ts'
import type { DailyUsage } from '../../records/schema/index.ts'
import { dateOf, wholeNumber } from '../fields.ts'
import type { Services } from '../route.ts'

/** The wire format of quota rules, groups, usage and explanations, which several resources share. */

/** A sum beyond 2^53-1 is a bigint here and an integer in the JSON. */
export const bytes = v.number() as v.GenericSchema as v.GenericSchema<Sum>
/** Bytes left below a limit, negative when it is exceeded; null without a limit. */
export const bytesLeft = v.nullable(bytes)
/** Bytes, or -1 for unlimited. */
const limit = wholeNumber

/** Names of rules and groups are sent to administrators only. */
const name = v.optional(v.string())

export const QuotaRuleInfo = v.object({ name, limit, subjects: v.array(Subject) })
export type QuotaRuleInfo = v.InferOutput<typeof QuotaRuleInfo>

export const QuotaGroupInfo = v.object({ name, rules: v.array(QuotaRuleInfo) })
export type QuotaGroupInfo = v.InferOutput<typeof QuotaGroupInfo>

export const QuotaInfo = v.object({
  used: v.object({
    size: v.object({
      repos: v.object({ public: bytes, private: bytes }),
      git: v.object({ LFS: bytes }),
      assets: v.object({
        attachments: v.object({ issues: bytes, releases: bytes }),
        artifacts: bytes,
        packages: v.object({ all: bytes }),
      }),
    }),
  }),
  groups: v.array(QuotaGroupInfo),
})
export type QuotaInfo = v.InferOutput<typeof QuotaInfo>

/** Usage at the end of a day on which it changed. */
export const QuotaHistoryDay = v.object({
  /** In UTC, such as `2026-11-21`. */
  date: v.string(),
  /** Usage of `size:all`. */
  all: bytes,
  size: QuotaInfo.entries.used.entries.size,
})

/** At most one entry a day, oldest first; the last one is the present usage. */
export const QuotaHistory = v.array(QuotaHistoryDay)

export const QuotaExplanationInfo = v.object({
  subject: Subject,
  over: v.boolean(),
  /** Bytes that count toward the subject. */
  used: bytes,
  /** The rule whose limit binds; null when the subject is unlimited. */
  rule: v.optional(v.nullable(v.string())),
  /** The binding limit, the one with the fewest bytes left; null when the subject is unlimited. */
  limit: v.nullable(limit),
  left: bytesLeft,
  groups: v.array(
    v.object({
      name,
      stands: v.boolean(),
      rules: v.array(
        v.object({
          name,
          limit,
          subjects: v.array(Subject),
          covers: v.boolean(),
          stands: v.boolean(),
          used: bytes,
          left: bytesLeft,
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

export const presentGroup = (group: QuotaGroup, withNames = true): QuotaGroupInfo => ({
  ...nameOf(group, withNames),
  rules: group.rules.map((rule) => presentRule(rule, withNames)),
})

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

type Dialect = Services['dialect']

/** Forgejo's name for `size:wiki`. */
const FORGEJO_WIKI = 'size:assets:wiki'

/** A subject as a request names it: one of the document's, or in the dialect of Forgejo also its name for the wiki. */
export const RequestSubject = v.picklist([...subjects, FORGEJO_WIKI])
export type RequestSubject = v.InferOutput<typeof RequestSubject>

export const RequestSubjects = v.pipe(v.array(RequestSubject), v.maxLength(MAX_SUBJECTS))

export const SubjectQuery = v.object({ subject: RequestSubject })
/** Without a subject: the one that binds. */
export const AnySubjectQuery = v.object({ subject: v.optional(RequestSubject) })

/** The subject of a request that need not name one. */
export const anySubjectIn = (dialect: Dialect, subject: RequestSubject | undefined): Subject | undefined =>
  subject && subjectIn(dialect, subject)

/**
 * @param member where the subject stands in the request, such as `subjects[0]`
 * @throws AllotError invalid for Forgejo's name in the dialect of the document
 */
export const subjectIn = (dialect: Dialect, subject: RequestSubject, member = 'subject'): Subject => {
  if (subject !== FORGEJO_WIKI) return subject
  if (dialect === 'forgejo') return 'size:wiki'
  const expected = Subject.options.join(', ')
  throw invalid(`${member}: expected one of ${expected}, received the string "${FORGEJO_WIKI}"`)
}

export const subjectsIn = (dialect: Dialect, subjects: readonly RequestSubject[]): Subject[] =>
  subjects.map((subject, index) => subjectIn(dialect, subject, `subjects[${index}]`))
