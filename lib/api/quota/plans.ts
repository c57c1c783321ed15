import * as v from 'valibot'
import { Forbidden, recordOf, ValidationError } from '../../http/index.ts'
import type { NamedPlan } from '../../repositories/named-plans.ts'
import { pageOf, reply, route, type Services } from '../route.ts'
import {
  changeResources,
  overResource,
  presenting,
  QuotaChange,
  QuotaOverInfo,
  QuotaSimulationInfo,
  simulationResource,
} from './plan-schema.ts'
import { SubjectQuery, SubjectsQuery, subjectIn, subjectsIn } from './subject.ts'

const name = v.pipe(v.string(), v.minLength(1), v.maxLength(255))
const names = v.array(name)
const PlannedRule = v.object({
  name,
  limit: v.pipe(v.number(), v.safeInteger()),
  subjects: v.optional(SubjectsQuery),
})

const plan = {
  rules: v.optional(v.array(PlannedRule)),
  groups: v.optional(v.array(v.object({ name, rules: v.optional(names) }))),
  /** By the name of a user or an organization: the whole list of its groups. */
  assignments: v.optional(recordOf(names)),
  prune: v.optional(v.boolean()),
}
const QuotaPlan = v.object(plan)

/** An instance has more owners than a body of the usual size has room for. */
const PLAN_LIMIT = 8 * 1024 * 1024

const planIn = (dialect: Services['dialect'], body: v.InferOutput<typeof QuotaPlan>): NamedPlan => ({
  ...body,
  rules: body.rules?.map((rule) => ({ ...rule, subjects: subjectsIn(dialect, rule.subjects ?? []) })),
  groups: body.groups?.map((group) => ({ ...group, rules: group.rules ?? [] })),
})

/** A share of the limit, as people write it: `20%`, `20` or `0.2%`. */
const Percentage = v.pipe(
  v.string(),
  v.regex(/^(?:100|\d{1,2}(?:\.\d+)?)%?$/, 'expected a percentage from 0 to 100, such as 20%'),
)
const shareOf = (percentage: string | undefined): number => Number.parseFloat(percentage ?? '0') / 100

export const quotaPlanRoutes = [
  route({
    method: 'GET',
    path: '/admin/quota/over',
    operationId: 'adminListOverQuota',
    tag: 'admin',
    summary: 'The users and organizations that are over quota for a subject, largest excess first',
    auth: 'admin',
    scope: 'read:admin',
    paging: 'strict',
    query: v.object({ subject: SubjectQuery, within: v.optional(Percentage) }),
    responses: { 200: v.array(QuotaOverInfo), 403: Forbidden, 422: ValidationError },
    handle: async ({ user, query, page, baseUrl }, { quota, hosting, dialect }) => {
      const subject = subjectIn(dialect, query.subject, 'subject')
      const { items, total } = await quota.overQuota({ subject, within: shareOf(query.within) }, page)
      const accounts = await hosting.accounts.byIds(items.map(({ owner }) => owner))
      const present = presenting(accounts, user, baseUrl)
      return pageOf(
        items.flatMap((one) => overResource(one, subject, present)),
        total,
      )
    },
  }),
  route({
    method: 'POST',
    path: '/admin/quota/simulate',
    operationId: 'adminSimulateQuota',
    tag: 'admin',
    summary: 'Whose answer would change if rules, groups and assignments were as proposed; nothing is stored',
    auth: 'admin',
    scope: 'read:admin',
    paging: 'strict',
    bodyLimit: PLAN_LIMIT,
    body: v.object({ ...plan, default_groups: v.optional(names) }),
    responses: { 200: v.array(QuotaSimulationInfo), 403: Forbidden, 422: ValidationError },
    handle: async ({ user, body, page, baseUrl }, { hosting, dialect }) => {
      const proposed = { ...planIn(dialect, body), defaultGroups: body.default_groups }
      const { items, total } = await hosting.plans.simulate(proposed, page)
      const accounts = await hosting.accounts.byIds(items.map(({ owner }) => owner))
      const present = presenting(accounts, user, baseUrl)
      return pageOf(
        items.flatMap((one) => simulationResource(one, present)),
        total,
      )
    },
  }),
  route({
    method: 'POST',
    path: '/admin/quota/apply',
    operationId: 'adminApplyQuota',
    tag: 'admin',
    summary:
      'Make rules, groups and assignments as the body says, all or nothing, and tell what that changed',
    auth: 'admin',
    scope: 'write:admin',
    bodyLimit: PLAN_LIMIT,
    query: v.object({ dry_run: v.optional(v.boolean()) }),
    body: QuotaPlan,
    responses: { 200: v.array(QuotaChange), 403: Forbidden, 422: ValidationError },
    handle: async ({ query, body }, { hosting, dialect }) => {
      const changes = await hosting.plans.apply(planIn(dialect, body), { dryRun: query.dry_run })
      return reply(200, changeResources(changes))
    },
  }),
]
