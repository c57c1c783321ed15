import * as v from 'valibot'
import { Empty, ErrorBody, Forbidden, NotFound, ValidationError } from '../../http/index.ts'
import { quotaName, wholeNumber } from '../fields.ts'
import { reply, replyEmpty, replyPage, route } from '../route.ts'
import { presentRule, QuotaRuleInfo, RequestSubjects, subjectsIn } from './schema.ts'

/** "`limit` is bytes; -1 is unlimited. A limit beyond ±(2^53-1), a fraction or a string is 422." */
const CreateQuotaRuleOptions = v.object({
  name: quotaName,
  limit: wholeNumber,
  subjects: v.optional(RequestSubjects),
})
/** "An omitted member leaves that attribute unchanged. The name cannot be changed." */
const EditQuotaRuleOptions = v.object({
  limit: v.optional(wholeNumber),
  subjects: v.optional(RequestSubjects),
})

const read = { auth: 'admin', scope: 'read:admin', tag: 'admin' } as const
const write = { auth: 'admin', scope: 'write:admin', tag: 'admin' } as const

export const quotaRuleRoutes = [
  route({
    ...read,
    method: 'GET',
    path: '/admin/quota/rules',
    operationId: 'adminListQuotaRules',
    summary: 'The quota rules',
    paging: 'lenient',
    responses: { 200: v.array(QuotaRuleInfo), 403: Forbidden },
    handle: async ({ page }, { quota }) =>
      replyPage(await quota.rules.list(page), (rule) => presentRule(rule)),
  }),
  route({
    ...write,
    method: 'POST',
    path: '/admin/quota/rules',
    operationId: 'adminCreateQuotaRule',
    summary: 'Create a quota rule',
    body: CreateQuotaRuleOptions,
    responses: { 201: QuotaRuleInfo, 403: Forbidden, 409: ErrorBody, 422: ValidationError },
    handle: async ({ body }, { quota, dialect }) => {
      const rule = { ...body, subjects: subjectsIn(dialect, body.subjects ?? []) }
      return reply(201, presentRule(await quota.rules.create(rule)))
    },
  }),
  route({
    ...read,
    method: 'GET',
    path: '/admin/quota/rules/{quotarule}',
    operationId: 'adminGetQuotaRule',
    summary: 'A quota rule',
    responses: { 200: QuotaRuleInfo, 403: Forbidden, 404: NotFound },
    handle: async ({ params }, { quota }) => {
      const rule = await quota.rules.get(params.quotarule)
      return rule === undefined ? reply(404) : reply(200, presentRule(rule))
    },
  }),
  route({
    ...write,
    method: 'PATCH',
    path: '/admin/quota/rules/{quotarule}',
    operationId: 'adminEditQuotaRule',
    summary: 'Change the limit or the subjects of a quota rule',
    body: EditQuotaRuleOptions,
    responses: { 200: QuotaRuleInfo, 403: Forbidden, 404: NotFound, 422: ValidationError },
    exists: async ({ quotarule }, { quota }) => (await quota.rules.get(quotarule)) !== undefined,
    handle: async ({ params, body }, { quota, dialect }) => {
      const subjects = body.subjects && subjectsIn(dialect, body.subjects)
      const rule = await quota.rules.edit(params.quotarule, { ...body, subjects })
      return rule === undefined ? reply(404) : reply(200, presentRule(rule))
    },
  }),
  route({
    ...write,
    method: 'DELETE',
    path: '/admin/quota/rules/{quotarule}',
    operationId: 'adminDeleteQuotaRule',
    summary: 'Delete a quota rule',
    responses: { 204: Empty, 403: Forbidden, 404: NotFound },
    handle: async ({ params }, { quota }) => replyEmpty(await quota.rules.remove(params.quotarule)),
  }),
]
