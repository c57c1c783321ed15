import * as v from 'valibot'
import { Empty, Forbidden, NotFound, ValidationError } from '../../http/index.ts'
import type { Issue as Record } from '../../records/schema/index.ts'
import type { InRepository } from '../../repositories/write-access.ts'
import { acceptedBooleans } from '../fields.ts'
import type { ListRequest } from '../list-response.ts'
import { accountNamed } from '../resolve-account.ts'
import { pageOf, reply, route, type Services } from '../route.ts'
import { number, orEmpty, presenterFor, repositoryNameOf, repositoryParams, text } from './fields.ts'
import { Issue, State } from './issue-schema.ts'
import { presentIssues } from './presenter.ts'

const title = v.pipe(v.string(), v.minLength(1), v.maxLength(255))
const params = v.object({ ...repositoryParams, index: number })

const presentIssue = async (
  services: Services,
  request: ListRequest,
  { repository, issue }: InRepository<{ issue: Record }>,
) => (await presentIssues(presenterFor(services, request, repository), [issue]))[0]!

/** A name, or a part of one. */
const named = v.optional(v.pipe(v.string(), v.maxLength(255)))

/** What no issue has here: whoever asks for one of them is told that none has it. */
const none = { labels: named, milestones: named }
const nobody = { assigned_by: named, mentioned_by: named }

const IssueQuery = v.object({
  state: orEmpty('open', 'closed', 'all'),
  q: named,
  type: orEmpty('issues', 'pulls'),
  created_by: named,
  ...none,
  ...nobody,
})
type IssueQuery = v.InferOutput<typeof IssueQuery>

/** The id of an account; undefined when all are asked for, and 0 when nothing can be found. */
const authorIn = async (
  services: Services,
  { user }: ListRequest,
  query: IssueQuery,
): Promise<number | undefined> => {
  const { labels, milestones, assigned_by, mentioned_by, type, created_by: name } = query
  if (type === 'pulls' || labels || milestones || assigned_by || mentioned_by) return NOBODY
  return name ? ((await accountNamed(services, user, name))?.id ?? NOBODY) : undefined
}
const NOBODY = 0

export const issueRoutes = [
  route({
    method: 'GET',
    path: '/repos/{owner}/{repo}/issues',
    operationId: 'issueListIssues',
    tag: 'issue',
    summary: "A repository's issues, the newest first: open ones unless `state` says otherwise",
    auth: 'optional',
    scope: 'read:issue',
    paging: 'lenient',
    query: IssueQuery,
    responses: { 200: v.array(Issue), 404: NotFound, 422: ValidationError },
    handle: async (request, services) => {
      const { user, params, query, page } = request
      const author = await authorIn(services, request, query)
      const found = await services.hosting.issues.list(
        user,
        repositoryNameOf(params),
        { state: query.state || 'open', q: query.q, author },
        page,
        request.client,
      )
      if (found === undefined) return reply(404)
      const { items, total } = found.page
      return pageOf(await presentIssues(presenterFor(services, request, found.repository), items), total)
    },
  }),
  route({
    method: 'POST',
    path: '/repos/{owner}/{repo}/issues',
    operationId: 'issueCreateIssue',
    tag: 'issue',
    summary: 'Open an issue',
    auth: 'required',
    scope: 'write:issue',
    body: v.object({ title, body: v.optional(text), closed: v.optional(v.boolean()) }),
    responses: { 201: Issue, 403: Forbidden, 404: NotFound, 422: ValidationError },
    handle: async (request, services) => {
      const { user, params, body } = request
      const made = await services.hosting.issues.create(user, repositoryNameOf(params), body)
      return made === undefined ? reply(404) : reply(201, await presentIssue(services, request, made))
    },
  }),
  route({
    method: 'GET',
    path: '/repos/{owner}/{repo}/issues/{index}',
    operationId: 'issueGetIssue',
    tag: 'issue',
    summary: 'An issue, by its number',
    auth: 'optional',
    scope: 'read:issue',
    params,
    responses: { 200: Issue, 404: NotFound },
    handle: async (request, services) => {
      const { user, params } = request
      const found = await services.hosting.issues.find(user, repositoryNameOf(params), params.index)
      return found === undefined ? reply(404) : reply(200, await presentIssue(services, request, found))
    },
  }),
  route({
    method: 'PATCH',
    path: '/repos/{owner}/{repo}/issues/{index}',
    operationId: 'issueEditIssue',
    tag: 'issue',
    summary: 'Change an issue, close it, or open it again; answers 201, as a Forgejo does',
    auth: 'required',
    scope: 'write:issue',
    params,
    body: v.object({
      title: v.optional(title),
      body: v.optional(text),
      state: v.optional(State),
      ...acceptedBooleans('unset_due_date'),
    }),
    responses: { 201: Issue, 403: Forbidden, 404: NotFound, 422: ValidationError },
    handle: async (request, services) => {
      const { user, params, body } = request
      const edited = await services.hosting.issues.edit(user, repositoryNameOf(params), params.index, body)
      return edited === undefined ? reply(404) : reply(201, await presentIssue(services, request, edited))
    },
  }),
  route({
    method: 'DELETE',
    path: '/repos/{owner}/{repo}/issues/{index}',
    operationId: 'issueDelete',
    tag: 'issue',
    summary: 'Delete an issue with its comments',
    auth: 'required',
    scope: 'write:issue',
    params,
    responses: { 204: Empty, 403: Forbidden, 404: NotFound },
    handle: async ({ user, params }, { hosting }) =>
      (await hosting.issues.remove(user, repositoryNameOf(params), params.index)) ? reply(204) : reply(404),
  }),
]
