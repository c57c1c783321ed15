import * as v from 'valibot'
import { Empty, ErrorBody, Forbidden, NotFound, ValidationError } from '../../http/index.ts'
import { pageOf, reply, route } from '../route.ts'
import { QuotaRuleInfo, ruleResource } from './schema.ts'
import { SubjectsQuery, subjectsIn } from './subject.ts'

const name = v.pipe(v.string(), v.minLength(1), v.maxLength(255))
/** "`limit` is bytes; -1 is unlimited. A limit beyond ±(2^53-1), a fraction or a string is 422." */
const limit = v.pipe(v.number(), v.safeInteger())
const subjects = SubjectsQuery

const CreateQuotaRuleOptions = v.object({ name, limit, subjects: v.optional(subjects) })
/** "An omitted member leaves that attribute unchanged. The name cannot be changed." */
const EditQuotaRuleOptions = v.object({ limit: v.optional(limit), subjects: v.optional(subjects) })

export const quotaRuleRoutes = [
  route({
    method: 'GET',
    path: '/admin/quota/rules',
    operationId: 'adminListQuotaRules',
    tag: 'admin',
    summary: 'The quota rules',
    auth: 'admin',
    scope: 'read:admin',
    paging: 'lenient',
    responses: { 200: v.array(QuotaRuleInfo), 403: Forbidden },
    handle: async ({ page }, { quota }) => {
      const { items, total } = await quota.rules.list(page)
      return pageOf(
        items.map((rule) => ruleResource(rule)),
        total,
      )
    },
  }),
  route({
    method: 'POST',
    path: '/admin/quota/rules',
    operationId: 'adminCreateQuotaRule',
    tag: 'admin',
    summary: 'Create a quota rule',
    auth: 'admin',
    scope: 'write:admin',
    body: CreateQuotaRuleOptions,
    responses: { 201: QuotaRuleInfo, 403: Forbidden, 409: ErrorBody, 422: ValidationError },
    handle: async ({ body }, { quota, dialect }) => {
      const rule = { ...body, subjects: subjectsIn(dialect, body.subjects ?? []) }
      return reply(201, ruleResource(await quota.rules.create(rule)))
    },
  }),
  route({
    method: 'GET',
    path: '/admin/quota/rules/{quotarule}',
    operationId: 'adminGetQuotaRule',
    tag: 'admin',
    summary: 'A quota rule',
    auth: 'admin',
    scope: 'read:admin',
    responses: { 200: QuotaRuleInfo, 403: Forbidden, 404: NotFound },
    handle: async ({ params }, { quota }) => {
      const rule = await quota.rules.get(params.quotarule)
      return rule === undefined ? reply(404) : reply(200, ruleResource(rule))
    },
  }),
  route({
    method: 'PATCH',
    path: '/admin/quota/rules/{quotarule}',
    operationId: 'adminEditQuotaRule',
    tag: 'admin',
    summary: 'Change the limit or the subjects of a quota rule',
    auth: 'admin',
    scope: 'write:admin',
    body: EditQuotaRuleOptions,
    responses: { 200: QuotaRuleInfo, 403: Forbidden, 404: NotFound, 422: ValidationError },
    exists: async ({ quotarule }, { quota }) => (await quota.rules.get(quotarule)) !== undefined,
    handle: async ({ params, body }, { quota, dialect }) => {
      const subjects = body.subjects && subjectsIn(dialect, body.subjects)
      const rule = await quota.rules.edit(params.quotarule, { ...body, subjects })
      return rule === undefined ? reply(404) : reply(200, ruleResource(rule))
    },
  }),
  route({
    method: 'DELETE',
    path: '/admin/quota/rules/{quotarule}',
    operationId: 'adminDeleteQuotaRule',
    tag: 'admin',
    summary: 'Delete a quota rule',
    auth: 'admin',
    scope: 'write:admin',
    responses: { 204: Empty, 403: Forbidden, 404: NotFound },
    handle: async ({ params }, { quota }) =>
      (await quota.rules.remove(params.quotarule)) ? reply(204) : reply(404),
  }),
]
