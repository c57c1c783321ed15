import * as v from 'valibot'
import type { Viewer } from '../../accounts/access.ts'
import type { LimitStatus } from '../../quota/evaluate.ts'
import type { OwnerOverQuota } from '../../quota/over-quota.ts'
import type { ChangedOwner } from '../../quota/plans.ts'
import { Subject } from '../../quota/subjects.ts'
import type { Account } from '../../records/schema/index.ts'
import type { NamedDifferences } from '../../repositories/named-plans.ts'
import { User, userResource } from '../user-schema.ts'
import { bytes, ruleResource } from './schema.ts'

/** Null where nothing limits. */
const room = v.nullable(bytes)

/** An owner over a limit, or near it: the limit that binds, and the bytes left below it, negative for those above. */
export const QuotaOverInfo = v.object({
  owner: User,
  subject: Subject,
  over: v.boolean(),
  used: bytes,
  limit: v.number(),
  left: bytes,
})
export type QuotaOverInfo = v.InferOutput<typeof QuotaOverInfo>

const Answer = v.object({ over: v.boolean(), limit: v.nullable(v.number()), left: room })

/** An owner whose answer of `check` would change, for each subject for which it would. */
export const QuotaSimulationInfo = v.object({
  owner: User,
  subjects: v.array(v.object({ subject: Subject, used: bytes, before: Answer, after: Answer })),
})
export type QuotaSimulationInfo = v.InferOutput<typeof QuotaSimulationInfo>

const names = v.array(v.string())

/** What is told of a thing: a rule has a limit and subjects, a group rules, an assignment groups. */
const Setting = v.object({
  limit: v.optional(v.number()),
  subjects: v.optional(v.array(Subject)),
  rules: v.optional(names),
  groups: v.optional(names),
})

export const QuotaChange = v.object({
  action: v.picklist(['create', 'update', 'delete']),
  kind: v.picklist(['rule', 'group', 'assignment']),
  name: v.string(),
  before: v.nullable(Setting),
  after: v.nullable(Setting),
})
export type QuotaChange = v.InferOutput<typeof QuotaChange>

/** Who is asked for by id, as the viewer sees it; an owner that was deleted meanwhile is left out. */
export type Present = (owner: number) => User[]

export const presenting =
  (accounts: readonly Account[], viewer: Viewer, baseUrl: string): Present =>
  (owner) =>
    accounts.filter(({ id }) => id === owner).map((account) => userResource(account, viewer, baseUrl))

export const overResource = (
  { owner, over, used, limit, remaining }: OwnerOverQuota,
  subject: Subject,
  present: Present,
): QuotaOverInfo[] =>
  present(owner).map((user) => ({ owner: user, subject, over, used, limit, left: remaining }))

export const simulationResource = (
  { owner, answers }: ChangedOwner,
  present: Present,
): QuotaSimulationInfo[] =>
  present(owner).map((user) => ({
    owner: user,
    subjects: answers.map(({ subject, used, before, after }) => ({
      subject,
      used,
      before: answerResource(before),
      after: answerResource(after),
    })),
  }))

const answerResource = ({ over, binding }: { over: boolean; binding: LimitStatus | undefined }) => ({
  over,
  limit: binding?.limit ?? null,
  left: binding?.remaining ?? null,
})

export const changeResources = ({ rules, groups, assignments }: NamedDifferences): QuotaChange[] => [
  ...rules.map(changed('rule', (rule) => withoutName(ruleResource(rule)))),
  ...groups.map(changed('group', (group) => ({ rules: [...group] }))),
  ...assignments.map(changed('assignment', (list) => (list.length === 0 ? null : { groups: [...list] }))),
]

const withoutName = ({ limit, subjects }: ReturnType<typeof ruleResource>) => ({ limit, subjects })

const changed =
  <T>(kind: QuotaChange['kind'], setting: (value: T) => QuotaChange['before']) =>
  (one: { key: string; before: T | undefined; after: T | undefined }): QuotaChange => {
    const before = one.before === undefined ? null : setting(one.before)
    const after = one.after === undefined ? null : setting(one.after)
    const action = before === null ? 'create' : after === null ? 'delete' : 'update'
    return { action, kind, name: one.key, before, after }
  }
