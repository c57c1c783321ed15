import * as v from 'valibot'
import { anyAccount } from '../../accounts/authorize.ts'
import { Empty, ErrorBody, Forbidden, NotFound, ValidationError } from '../../http/index.ts'
import { accountNamed } from '../resolve-account.ts'
import { pageOf, reply, route } from '../route.ts'
import { User, userResource } from '../user-schema.ts'
import { replyExplanation, replyInfo } from './replies.ts'
import { groupResource, QuotaExplanationInfo, QuotaGroupInfo, QuotaInfo } from './schema.ts'
import { SubjectQuery, SubjectsQuery, subjectsIn } from './subject.ts'

const name = v.pipe(v.string(), v.minLength(1), v.maxLength(255))

/** A rule that exists is put into the group as it is; another is created, and then needs its limit. */
const RuleInGroup = v.object({
  name,
  limit: v.optional(v.pipe(v.number(), v.safeInteger())),
  subjects: v.optional(SubjectsQuery),
})
const CreateQuotaGroupOptions = v.object({
  name,
  rules: v.optional(v.pipe(v.array(RuleInGroup), v.maxLength(100))),
})

const read = { auth: 'admin', scope: 'read:admin', tag: 'admin' } as const
const write = { auth: 'admin', scope: 'write:admin', tag: 'admin' } as const

/** A change that is refused by what is there: 404 for what is not, 409 for what is already so. */
const changed = { 204: Empty, 403: Forbidden, 404: NotFound, 409: ErrorBody } as const

export const quotaGroupRoutes = [
  route({
    ...read,
    method: 'GET',
    path: '/admin/quota/groups',
    operationId: 'adminListQuotaGroups',
    summary: 'The quota groups',
    paging: 'lenient',
    responses: { 200: v.array(QuotaGroupInfo), 403: Forbidden },
    handle: async ({ page }, { quota }) => {
      const { items, total } = await quota.groups.list(page)
      return pageOf(
        items.map((group) => groupResource(group)),
        total,
      )
    },
  }),
  route({
    ...write,
    method: 'POST',
    path: '/admin/quota/groups',
    operationId: 'adminCreateQuotaGroup',
    summary: 'Create a quota group, with the rules that do not exist yet',
    body: CreateQuotaGroupOptions,
    responses: { 201: QuotaGroupInfo, 403: Forbidden, 409: ErrorBody, 422: ValidationError },
    handle: async ({ body }, { quota, dialect }) => {
      const rules = (body.rules ?? []).map(({ subjects, ...rule }) => ({
        ...rule,
        subjects: subjectsIn(dialect, subjects ?? []),
      }))
      return reply(201, groupResource(await quota.groups.create({ name: body.name, rules })))
    },
  }),
  route({
    ...read,
    method: 'GET',
    path: '/admin/quota/groups/{quotagroup}',
    operationId: 'adminGetQuotaGroup',
    summary: 'A quota group',
    responses: { 200: QuotaGroupInfo, 403: Forbidden, 404: NotFound },
    handle: async ({ params }, { quota }) => {
      const group = await quota.groups.get(params.quotagroup)
      return group === undefined ? reply(404) : reply(200, groupResource(group))
    },
  }),
  route({
    ...write,
    method: 'DELETE',
    path: '/admin/quota/groups/{quotagroup}',
    operationId: 'adminDeleteQuotaGroup',
    summary: 'Delete a quota group, and take it from everyone who has it; its rules stay',
    responses: { 204: Empty, 403: Forbidden, 404: NotFound },
    handle: async ({ params }, { quota }) =>
      (await quota.groups.remove(params.quotagroup)) ? reply(204) : reply(404),
  }),
  route({
    ...write,
    method: 'PUT',
    path: '/admin/quota/groups/{quotagroup}/rules/{quotarule}',
    operationId: 'adminAddRuleToQuotaGroup',
    summary: 'Put a rule into a group',
    responses: changed,
    handle: async ({ params }, { quota }) => {
      await quota.groups.addRule(params.quotagroup, params.quotarule)
      return reply(204)
    },
  }),
  route({
    ...write,
    method: 'DELETE',
    path: '/admin/quota/groups/{quotagroup}/rules/{quotarule}',
    operationId: 'adminRemoveRuleFromQuotaGroup',
    summary: 'Take a rule out of a group',
    responses: { 204: Empty, 403: Forbidden, 404: NotFound },
    handle: async ({ params }, { quota }) => {
      await quota.groups.removeRule(params.quotagroup, params.quotarule)
      return reply(204)
    },
  }),
  route({
    ...read,
    method: 'GET',
    path: '/admin/quota/groups/{quotagroup}/users',
    operationId: 'adminListUsersInQuotaGroup',
    summary: 'The users and organizations that a group is assigned to',
    paging: 'lenient',
    responses: { 200: v.array(User), 403: Forbidden, 404: NotFound },
    handle: async ({ user, params, page, baseUrl }, { quota, hosting }) => {
      const members = await quota.groups.members(params.quotagroup, page)
      if (members === undefined) return reply(404)
      const accounts = await hosting.accounts.byIds(members.items)
      return pageOf(
        accounts.map((account) => userResource(account, user, baseUrl)),
        members.total,
      )
    },
  }),
  route({
    ...write,
    method: 'PUT',
    path: '/admin/quota/groups/{quotagroup}/users/{username}',
    operationId: 'adminAddUserToQuotaGroup',
    summary: 'Assign a group to a user or an organization',
    responses: changed,
    handle: async ({ params }, { quota }) => {
      await quota.groups.assign(anyAccount(params.username), params.quotagroup)
      return reply(204)
    },
  }),
  route({
    ...write,
    method: 'DELETE',
    path: '/admin/quota/groups/{quotagroup}/users/{username}',
    operationId: 'adminRemoveUserFromQuotaGroup',
    summary: 'Take a group from a user or an organization',
    responses: { 204: Empty, 403: Forbidden, 404: NotFound },
    handle: async ({ params }, { quota }) => {
      await quota.groups.unassign(anyAccount(params.username), params.quotagroup)
      return reply(204)
    },
  }),
  route({
    ...read,
    method: 'GET',
    path: '/admin/users/{username}/quota',
    operationId: 'adminGetUserQuota',
    summary: "A user's or an organization's usage, and the groups it is judged by",
    responses: { 200: QuotaInfo, 403: Forbidden, 404: NotFound },
    handle: async ({ user, params }, services) => {
      const account = await accountNamed(services, user, params.username)
      return account === undefined ? reply(404) : replyInfo(services, account, true)
    },
  }),
  route({
    ...read,
    method: 'GET',
    path: '/admin/users/{username}/quota/explain',
    operationId: 'adminExplainUserQuota',
    summary: 'Why a user or an organization is, or is not, over quota for a subject',
    query: v.object({ subject: SubjectQuery }),
    responses: { 200: QuotaExplanationInfo, 403: Forbidden, 404: NotFound, 422: ValidationError },
    handle: async ({ user, params, query }, services) => {
      const account = await accountNamed(services, user, params.username)
      return account === undefined ? reply(404) : replyExplanation(services, account, query.subject, true)
    },
  }),
  route({
    ...write,
    method: 'POST',
    path: '/admin/users/{username}/quota/groups',
    operationId: 'adminSetUserQuotaGroups',
    summary: "Set the whole list of a user's or an organization's groups",
    body: v.object({ groups: v.pipe(v.array(name), v.maxLength(100)) }),
    responses: { 204: Empty, 403: Forbidden, 404: NotFound, 422: ValidationError },
    handle: async ({ params, body }, { quota }) => {
      await quota.groups.setFor(anyAccount(params.username), body.groups)
      return reply(204)
    },
  }),
]
