import * as v from 'valibot'
import { Empty, ErrorBody, Forbidden, NotFound, ValidationError } from '../../http/index.ts'
import { HISTORY_DAYS } from '../../quota/usage.ts'
import { givenLimit, groupName, ruleName } from '../fields.ts'
import {
  adminRead,
  adminWrite,
  pageOf,
  reply,
  replyDone,
  replyEmpty,
  replyFound,
  replyPage,
} from '../route.ts'
import { User } from '../users.ts'
import {
  AnySubjectQuery,
  HistoryQuery,
  presentExplanation,
  presentGroup,
  presentHistory,
  presentRule,
  presentStatus,
  QuotaExplanationInfo,
  QuotaGroupInfo,
  QuotaHistory,
  QuotaInfo,
  QuotaRuleInfo,
  Subjects,
} from './schema.ts'
import { quotaRoute as route } from './services.ts'

/** An existing rule is added to the group unchanged; a new one is created, and needs its limit. */
const NewOrExistingRule = v.object({
  name: ruleName,
  limit: v.optional(givenLimit),
  subjects: v.optional(Subjects),
})
/** The name alone is enough for an existing rule, as in a plan. */
const RuleInGroup = v.union([ruleName, NewOrExistingRule])
const CreateQuotaGroupOptions = v.object({
  name: groupName,
  rules: v.optional(v.pipe(v.array(RuleInGroup), v.maxLength(100))),
})

/** 409 when the rule or the user is already in the group. */
const added = { 204: Empty, 403: Forbidden, 404: NotFound, 409: ErrorBody } as const

export const quotaGroupRoutes = [
  route({
    ...adminRead,
    method: 'GET',
    path: '/admin/quota/groups',
    operationId: 'adminListQuotaGroups',
    summary: 'The quota groups',
    paging: 'whole',
    responses: { 200: v.array(QuotaGroupInfo), 403: Forbidden },
    handle: async ({ page }, { quota }) =>
      replyPage(await quota.groups.list(page), (group) => presentGroup(group)),
  }),
  route({
    ...adminWrite,
    method: 'POST',
    path: '/admin/quota/groups',
    operationId: 'adminCreateQuotaGroup',
    summary: 'Create a quota group, with the rules that do not exist yet',
    body: CreateQuotaGroupOptions,
    responses: { 201: QuotaGroupInfo, 403: Forbidden, 409: ErrorBody, 422: ValidationError },
    handle: async ({ body, user }, { quota }) => {
      const rules = (body.rules ?? []).map((rule) =>
        typeof rule === 'string' ? rule : { ...rule, subjects: rule.subjects ?? [] },
      )
      return reply(201, presentGroup(await quota.groups.create({ name: body.name, rules }, user)))
    },
  }),
  route({
    ...adminRead,
    method: 'GET',
    path: '/admin/quota/groups/{quotagroup}',
    operationId: 'adminGetQuotaGroup',
    summary: 'A quota group',
    responses: { 200: QuotaGroupInfo, 403: Forbidden, 404: NotFound },
    handle: async ({ params }, { quota }) =>
      replyFound(await quota.groups.get(params.quotagroup), (group) => presentGroup(group)),
  }),
  route({
    ...adminWrite,
    method: 'DELETE',
    path: '/admin/quota/groups/{quotagroup}',
    operationId: 'adminDeleteQuotaGroup',
    summary: 'Delete a quota group, and take it from everyone who has it; its rules stay',
    responses: { 204: Empty, 403: Forbidden, 404: NotFound },
    handle: async ({ params, user }, { quota }) =>
      replyEmpty(await quota.groups.remove(params.quotagroup, user)),
  }),
  route({
    ...adminWrite,
    method: 'PUT',
    path: '/admin/quota/groups/{quotagroup}/rules/{quotarule}',
    operationId: 'adminAddRuleToQuotaGroup',
    summary: 'Put a rule into a group',
    responses: added,
    handle: ({ params, user }, { quota }) =>
      replyDone(quota.groups.addRule(params.quotagroup, params.quotarule, user)),
  }),
  route({
    ...adminWrite,
    method: 'DELETE',
    path: '/admin/quota/groups/{quotagroup}/rules/{quotarule}',
    operationId: 'adminRemoveRuleFromQuotaGroup',
    summary: 'Take a rule out of a group',
    responses: { 204: Empty, 403: Forbidden, 404: NotFound },
    handle: ({ params, user }, { quota }) =>
      replyDone(quota.groups.removeRule(params.quotagroup, params.quotarule, user)),
  }),
  route({
    ...adminRead,
    method: 'GET',
    path: '/admin/quota/groups/{quotagroup}/users',
    operationId: 'adminListUsersInQuotaGroup',
    summary: 'The users and organizations that a group is assigned to',
    paging: 'pages',
    responses: { 200: v.array(User), 403: Forbidden, 404: NotFound },
    handle: async (request, { quota, owners }) => {
      const members = await quota.groups.members(request.params.quotagroup, request.page)
      if (members === undefined) return reply(404)
      const users = await owners.present(members.items, request)
      return pageOf([...users.values()], members.total)
    },
  }),
  route({
    ...adminWrite,
    method: 'PUT',
    path: '/admin/quota/groups/{quotagroup}/users/{username}',
    operationId: 'adminAddUserToQuotaGroup',
    summary: 'Assign a group to a user or an organization',
    responses: added,
    handle: ({ params, user }, { quota, owners }) =>
      replyDone(
        quota.groups.assign((tx) => owners.directory.claim(tx, params.username), params.quotagroup, user),
      ),
  }),
  route({
    ...adminWrite,
    method: 'DELETE',
    path: '/admin/quota/groups/{quotagroup}/users/{username}',
    operationId: 'adminRemoveUserFromQuotaGroup',
    summary: 'Take a group from a user or an organization',
    responses: { 204: Empty, 403: Forbidden, 404: NotFound },
    handle: ({ params, user }, { quota, owners }) =>
      replyDone(
        quota.groups.unassign((tx) => owners.directory.find(tx, params.username), params.quotagroup, user),
      ),
  }),
  route({
    ...adminRead,
    method: 'GET',
    path: '/admin/users/{username}/quota',
    operationId: 'adminGetUserQuota',
    summary: "A user's or an organization's usage, and the groups it is judged by",
    responses: { 200: QuotaInfo, 403: Forbidden, 404: NotFound },
    handle: async ({ user, params }, services) => {
      const account = await services.owners.find(user, params.username)
      if (account === undefined) return reply(404)
      return reply(200, presentStatus(await services.quota.statuses.of(account.id), true))
    },
  }),
  route({
    ...adminRead,
    method: 'GET',
    path: '/admin/users/{username}/quota/explain',
    operationId: 'adminExplainUserQuota',
    summary:
      'Why a user or an organization is, or is not, over quota for a subject; without one, for the subject with the fewest bytes left',
    query: AnySubjectQuery,
    responses: { 200: QuotaExplanationInfo, 403: Forbidden, 404: NotFound, 422: ValidationError },
    handle: async ({ user, params, query }, services) => {
      const account = await services.owners.find(user, params.username)
      if (account === undefined) return reply(404)
      return reply(200, presentExplanation(await services.quota.explain(account.id, query.subject), true))
    },
  }),
  route({
    ...adminRead,
    method: 'GET',
    path: '/admin/users/{username}/quota/history',
    operationId: 'adminGetUserQuotaHistory',
    summary: `A user's or an organization's usage at the end of each day on which it changed, for up to ${HISTORY_DAYS} days`,
    query: HistoryQuery,
    responses: { 200: QuotaHistory, 403: Forbidden, 404: NotFound, 422: ValidationError },
    handle: async ({ user, params, query }, { owners, quota }) => {
      const account = await owners.find(user, params.username)
      if (account === undefined) return reply(404)
      return reply(200, presentHistory(await quota.history(account.id, query.days)))
    },
  }),
  route({
    ...adminWrite,
    method: 'POST',
    path: '/admin/users/{username}/quota/groups',
    operationId: 'adminSetUserQuotaGroups',
    summary: "Set the whole list of a user's or an organization's groups",
    body: v.object({ groups: v.pipe(v.array(groupName), v.maxLength(100)) }),
    responses: { 204: Empty, 403: Forbidden, 404: NotFound, 422: ValidationError },
    handle: ({ params, body, user }, { quota, owners }) =>
      replyDone(quota.groups.setFor((tx) => owners.directory.claim(tx, params.username), body.groups, user)),
  }),
]

/** Bytes; -1 is unlimited. A fraction, a string, or a number beyond ±(2^53-1) is answered 422. */
const CreateQuotaRuleOptions = v.object({
  name: ruleName,
  limit: givenLimit,
  subjects: v.optional(Subjects),
})
/** An omitted member leaves its attribute as it is. The name of a rule cannot change. */
const EditQuotaRuleOptions = v.object({
  limit: v.optional(givenLimit),
  subjects: v.optional(Subjects),
})

export const quotaRuleRoutes = [
  route({
    ...adminRead,
    method: 'GET',
    path: '/admin/quota/rules',
    operationId: 'adminListQuotaRules',
    summary: 'The quota rules',
    paging: 'whole',
    responses: { 200: v.array(QuotaRuleInfo), 403: Forbidden },
    handle: async ({ page }, { quota }) =>
      replyPage(await quota.rules.list(page), (rule) => presentRule(rule)),
  }),
  route({
    ...adminWrite,
    method: 'POST',
    path: '/admin/quota/rules',
    operationId: 'adminCreateQuotaRule',
    summary: 'Create a quota rule',
    body: CreateQuotaRuleOptions,
    responses: { 201: QuotaRuleInfo, 403: Forbidden, 409: ErrorBody, 422: ValidationError },
    handle: async ({ body, user }, { quota }) => {
      const rule = { ...body, subjects: body.subjects ?? [] }
      return reply(201, presentRule(await quota.rules.create(rule, user)))
    },
  }),
  route({
    ...adminRead,
    method: 'GET',
    path: '/admin/quota/rules/{quotarule}',
    operationId: 'adminGetQuotaRule',
    summary: 'A quota rule',
    responses: { 200: QuotaRuleInfo, 403: Forbidden, 404: NotFound },
    handle: async ({ params }, { quota }) =>
      replyFound(await quota.rules.get(params.quotarule), (rule) => presentRule(rule)),
  }),
  route({
    ...adminWrite,
    method: 'PATCH',
    path: '/admin/quota/rules/{quotarule}',
    operationId: 'adminEditQuotaRule',
    summary: 'Change the limit or the subjects of a quota rule',
    body: EditQuotaRuleOptions,
    needsBody: true,
    responses: { 200: QuotaRuleInfo, 403: Forbidden, 404: NotFound, 422: ValidationError },
    exists: async ({ quotarule }, { quota }) => (await quota.rules.get(quotarule)) !== undefined,
    handle: async ({ params, body, user }, { quota }) =>
      replyFound(await quota.rules.edit(params.quotarule, body, user), (rule) => presentRule(rule)),
  }),
  route({
    ...adminWrite,
    method: 'DELETE',
    path: '/admin/quota/rules/{quotarule}',
    operationId: 'adminDeleteQuotaRule',
    summary: 'Delete a quota rule',
    responses: { 204: Empty, 403: Forbidden, 404: NotFound },
    handle: async ({ params, user }, { quota }) =>
      replyEmpty(await quota.rules.remove(params.quotarule, user)),
  }),
]
