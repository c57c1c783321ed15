import * as v from 'valibot'
import type { OnIssue } from '../../content/comments.ts'
import { Empty, Forbidden, NotFound, ValidationError } from '../../http/index.ts'
import type { Comment as Record } from '../../records/schema/index.ts'
import type { ListRequest } from '../list-response.ts'
import { pageOf, reply, route, type Services } from '../route.ts'
import { number, presenterFor, repositoryNameOf, repositoryParams, text } from './fields.ts'
import { Comment } from './issue-schema.ts'
import { presentComments } from './presenter.ts'

const onIssue = v.object({ ...repositoryParams, index: number })
const params = v.object({ ...repositoryParams, id: number })
const body = v.object({ body: v.pipe(text, v.minLength(1)) })

const presentComment = async (
  services: Services,
  request: ListRequest,
  { repository, issue, comment }: OnIssue<{ comment: Record }>,
) => (await presentComments(presenterFor(services, request, repository), issue, [comment]))[0]!

export const commentRoutes = [
  route({
    method: 'GET',
    path: '/repos/{owner}/{repo}/issues/{index}/comments',
    operationId: 'issueGetComments',
    tag: 'issue',
    summary: 'The comments on an issue, the oldest first',
    auth: 'optional',
    scope: 'read:issue',
    params: onIssue,
    paging: 'lenient',
    responses: { 200: v.array(Comment), 404: NotFound },
    handle: async (request, services) => {
      const { user, params, page } = request
      const found = await services.hosting.comments.list(user, repositoryNameOf(params), params.index, page)
      if (found === undefined) return reply(404)
      const { items, total } = found.page
      const to = presenterFor(services, request, found.repository)
      return pageOf(await presentComments(to, found.issue, items), total)
    },
  }),
  route({
    method: 'POST',
    path: '/repos/{owner}/{repo}/issues/{index}/comments',
    operationId: 'issueCreateComment',
    tag: 'issue',
    summary: 'Comment on an issue',
    auth: 'required',
    scope: 'write:issue',
    params: onIssue,
    body,
    responses: { 201: Comment, 403: Forbidden, 404: NotFound, 422: ValidationError },
    handle: async (request, services) => {
      const { user, params, body } = request
      const made = await services.hosting.comments.create(
        user,
        repositoryNameOf(params),
        params.index,
        body.body,
      )
      return made === undefined ? reply(404) : reply(201, await presentComment(services, request, made))
    },
  }),
  route({
    method: 'GET',
    path: '/repos/{owner}/{repo}/issues/comments/{id}',
    operationId: 'issueGetComment',
    tag: 'issue',
    summary: 'A comment',
    auth: 'optional',
    scope: 'read:issue',
    params,
    responses: { 200: Comment, 404: NotFound },
    handle: async (request, services) => {
      const { user, params } = request
      const found = await services.hosting.comments.find(user, repositoryNameOf(params), params.id)
      return found === undefined ? reply(404) : reply(200, await presentComment(services, request, found))
    },
  }),
  route({
    method: 'PATCH',
    path: '/repos/{owner}/{repo}/issues/comments/{id}',
    operationId: 'issueEditComment',
    tag: 'issue',
    summary: 'Change a comment',
    auth: 'required',
    scope: 'write:issue',
    params,
    body,
    responses: { 200: Comment, 403: Forbidden, 404: NotFound, 422: ValidationError },
    handle: async (request, services) => {
      const { user, params, body } = request
      const edited = await services.hosting.comments.edit(
        user,
        repositoryNameOf(params),
        params.id,
        body.body,
      )
      return edited === undefined ? reply(404) : reply(200, await presentComment(services, request, edited))
    },
  }),
  route({
    method: 'DELETE',
    path: '/repos/{owner}/{repo}/issues/comments/{id}',
    operationId: 'issueDeleteComment',
    tag: 'issue',
    summary: 'Delete a comment',
    auth: 'required',
    scope: 'write:issue',
    params,
    responses: { 204: Empty, 403: Forbidden, 404: NotFound },
    handle: async ({ user, params }, { hosting }) =>
      (await hosting.comments.remove(user, repositoryNameOf(params), params.id)) ? reply(204) : reply(404),
  }),
]
