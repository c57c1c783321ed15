/**
 * Quota as code: lists owners over quota, previews the changes of a plan of rules, groups and assignments,
 * and applies it.
 */
import * as v from 'valibot'
import { PERCENTAGE } from '../../byte-sizes.ts'
import { recordOf } from '../../http/index.ts'
import type { NamedDifferences, NamedPlan } from '../../quota/plans-by-name.ts'
import type { ChangedOwner } from '../../quota/simulation.ts'
import { Subject } from '../../quota/subjects.ts'
import type { Page } from '../../records/pages.ts'
import * as f from '../fields.ts'
import { adminRules, type Recipient } from '../route.ts'
import { User } from '../users.ts'
import { AnySubjectQuery, bytes, bytesLeft, presentRule, Subjects } from './schema.ts'
import { type QuotaServices, quotaAt } from './services.ts'

const exceeded = f.example(bytes, 1_073_745_920)

/** An owner over a limit or near it, with the subject and the rule that bind. */
export const QuotaOverInfo = v.object({
  owner: User,
  subject: Subject,
  rule: f.text('small'),
  over: f.example(v.boolean(), true),
  used: exceeded,
  limit: f.givenLimit,
  left: f.example(bytes, -4096),
})
export type QuotaOverInfo = v.InferOutput<typeof QuotaOverInfo>

const Answer = v.object({ over: v.boolean(), limit: v.nullable(v.number()), left: bytesLeft })

const OVER = { over: true, limit: 1_073_741_824, left: -4096 }

/** An owner for whom the answer of `check` would change, with the subjects for which it would. */
const QuotaSimulationInfo = v.object({
  owner: User,
  subjects: v.array(
    v.object({ subject: Subject, used: exceeded, before: Answer, after: f.example(Answer, OVER) }),
  ),
})

const presentSimulation = (
  { answers }: ChangedOwner,
  owner: User,
): v.InferOutput<typeof QuotaSimulationInfo> => ({
  owner,
  subjects: answers.map(({ subject, used, before, after }) => ({
    subject,
    used,
    before: presentAnswer(before),
    after: presentAnswer(after),
  })),
})

const presentAnswer = ({ over, binding }: ChangedOwner['answers'][number]['before']) => ({
  over,
  limit: binding?.limit ?? null,
  left: binding?.left ?? null,
})

const names = v.array(f.text('free'))

/** The limit and subjects of a rule, the rules of a group, or the groups of an assignment. */
const Setting = v.object({
  limit: v.optional(f.givenLimit),
  subjects: v.optional(v.array(Subject)),
  rules: v.optional(names),
  groups: v.optional(names),
})

export const QuotaChange = v.object({
  action: v.picklist(['create', 'update', 'delete']),
  kind: v.picklist(['rule', 'group', 'assignment']),
  name: f.text('small'),
  before: v.nullable(Setting),
  after: v.nullable(f.example(Setting, { limit: 1_073_741_824, subjects: ['size:all'] })),
})
export type QuotaChange = v.InferOutput<typeof QuotaChange>

const presentChanges = ({ rules, groups, assignments }: NamedDifferences): QuotaChange[] => [
  ...rules.map((rule) =>
    presentChange('rule', rule, (value) => {
      const { limit, subjects } = presentRule(value)
      return { limit, subjects }
    }),
  ),
  ...groups.map((group) => presentChange('group', group, (rules) => ({ rules: [...rules] }))),
  ...assignments.map((assignment) =>
    presentChange('assignment', assignment, (list) => (list.length === 0 ? null : { groups: [...list] })),
  ),
]

const presentChange = <T>(
  kind: QuotaChange['kind'],
  difference: { key: string; before: T | undefined; after: T | undefined },
  present: (value: T) => QuotaChange['before'],
): QuotaChange => {
  const before = difference.before === undefined ? null : present(difference.before)
  const after = difference.after === undefined ? null : present(difference.after)
  const action = before === null ? 'create' : after === null ? 'delete' : 'update'
  return { action, kind, name: difference.key, before, after }
}

/** Presents each item with its owner. Omits items whose owner was deleted meanwhile. */
const withOwners = async <T extends { owner: number }, B>(
  { owners }: QuotaServices,
  request: Recipient,
  { items, total }: Page<T>,
  present: (item: T, owner: User) => B,
): Promise<Page<B>> => {
  const ids = items.map(({ owner }) => owner)
  const users = await owners.present(ids, request)
  const presented = items.flatMap((item) => {
    const owner = users.get(item.owner)
    return owner === undefined ? [] : [present(item, owner)]
  })
  return { items: presented, total }
}

const planMembers = {
  rules: v.optional(
    v.array(v.object({ name: f.ruleName, limit: f.givenLimit, subjects: v.optional(Subjects) })),
  ),
  groups: v.optional(v.array(v.object({ name: f.groupName, rules: v.optional(v.array(f.ruleName)) }))),
  /** The complete list of the groups of each user or organization, by its name. */
  assignments: v.optional(f.example(recordOf(v.array(f.groupName)), { alice: ['free'] })),
  prune: v.optional(v.boolean()),
}
const QuotaPlan = v.object(planMembers)

/** Bytes: assignments name every owner of the instance, so a plan can be larger than other bodies. */
const PLAN_LIMIT = 8 * 1024 * 1024

const planOf = (body: v.InferOutput<typeof QuotaPlan>): NamedPlan => ({
  ...body,
  rules: body.rules?.map((rule) => ({ ...rule, subjects: rule.subjects ?? [] })),
  groups: body.groups?.map((group) => ({ ...group, rules: group.rules ?? [] })),
})

const Percentage = v.pipe(v.string(), v.regex(PERCENTAGE, 'expected a percentage from 0 to 100, such as 20%'))
const shareIn = (percentage = '0'): number => Number.parseFloat(percentage) / 100

const quotas = quotaAt('/admin/quota', adminRules)

export const quotaPlanRoutes = [
  quotas.list('adminListOverQuota', '/over', {
    summary:
      'The users and organizations that are over quota, for any subject or for one, largest excess first',
    query: v.object({
      ...AnySubjectQuery.entries,
      within: f.optionalQuery(
        Percentage,
        'Also finds owners with no more than this share of the limit left, such as `20%`.',
      ),
    }),
    of: QuotaOverInfo,
    run: async (request, services) => {
      const { query, page } = request
      const which = { subject: query.subject, within: shareIn(query.within) }
      const over = await services.quota.reports.overQuota(which, page)
      return withOwners(services, request, over, ({ owner: _, ...over }, owner) => ({ owner, ...over }))
    },
  }),
  quotas.list('adminSimulateQuota', '/simulate', {
    method: 'POST',
    summary: 'Whose answer would change if rules, groups and assignments were as proposed; nothing is stored',
    body: v.object({ ...planMembers, default_groups: v.optional(v.array(f.groupName)) }),
    bodyLimit: PLAN_LIMIT,
    of: QuotaSimulationInfo,
    run: async (request, services) => {
      const { body, page } = request
      const plan = { ...planOf(body), defaultGroups: body.default_groups }
      const changed = await services.hosting.plans.simulate(plan, page)
      return withOwners(services, request, changed, presentSimulation)
    },
  }),
  quotas.post('adminApplyQuota', '/apply', {
    summary:
      'Make rules, groups and assignments as the body says, all or nothing, and tell what that changed',
    query: v.object({
      dry_run: f.optionalQuery(v.boolean(), 'Whether to change nothing, and only answer what would change.'),
    }),
    body: QuotaPlan,
    bodyLimit: PLAN_LIMIT,
    // The size of the body bounds them.
    of: v.array(QuotaChange),
    status: 200,
    run: async ({ user, query, body }, { hosting }) =>
      presentChanges(await hosting.plans.apply(planOf(body), { dryRun: query.dry_run, by: user })),
  }),
]
