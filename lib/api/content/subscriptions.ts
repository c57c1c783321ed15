/** Who follows an issue. */
import * as v from 'valibot'
import { Empty, Forbidden, NotFound } from '../../http/index.ts'
import { accounts } from '../../records/schema/index.ts'
import { issueIndex, repositoryNameOf, repositoryParams, timestamp } from '../fields.ts'
import { WatchInfo } from '../relations.ts'
import { repositoryUrls } from '../repository-presenter.ts'
import { reply, route } from '../route.ts'
import { replyUsers, User } from '../users.ts'

const read = { scope: 'read:issue', tag: 'issue' } as const
const write = { auth: 'required', scope: 'write:issue', tag: 'issue' } as const

const params = v.object({ ...repositoryParams, index: issueIndex })
const ofUser = v.object({ ...repositoryParams, index: issueIndex, username: v.string() })

/** Clients expect 201 for a change and 200 when there was nothing to change, both without a body. */
const replyChanged = (isChanged: boolean | undefined) => {
  if (isChanged === undefined) return reply(404)
  return isChanged ? reply(201) : reply(200)
}

export const issueSubscriptionRoutes = [
  route({
    ...read,
    auth: 'optional',
    method: 'GET',
    path: '/repos/{owner}/{repo}/issues/{index}/subscriptions',
    operationId: 'issueSubscriptions',
    summary: 'The users who subscribed to an issue, or wrote it or a comment on it',
    params,
    paging: 'pages',
    responses: { 200: v.array(User), 404: NotFound },
    handle: async (request, { hosting }) => {
      const { user, params, page } = request
      const name = repositoryNameOf(params)
      const found = await hosting.issueSubscriptions.list(user, name, params.index, page)
      return found === undefined ? reply(404) : replyUsers(request, found)
    },
  }),
  route({
    ...read,
    auth: 'required',
    method: 'GET',
    path: '/repos/{owner}/{repo}/issues/{index}/subscriptions/check',
    operationId: 'issueCheckSubscription',
    summary: 'Whether the signed-in user follows an issue',
    params,
    responses: { 200: WatchInfo, 404: NotFound },
    handle: async (request, { store, hosting }) => {
      const { user, params } = request
      const found = await hosting.issueSubscriptions.check(user, repositoryNameOf(params), params.index)
      if (found === undefined) return reply(404)
      const { repository, issue, isSubscribed } = found
      const owner = await store.read((tx) => accounts.get(tx, [repository.owner]))
      if (owner === undefined) return reply(404)
      const { api } = repositoryUrls({ owner, repository }, request)
      return reply(200, {
        subscribed: isSubscribed,
        ignored: !isSubscribed,
        reason: null,
        created_at: timestamp(issue.createdAt),
        url: `${api}/issues/${issue.number}/subscriptions`,
        repository_url: api,
      })
    },
  }),
  ...(['PUT', 'DELETE'] as const).map((method) =>
    route({
      ...write,
      method,
      path: '/repos/{owner}/{repo}/issues/{index}/subscriptions/{username}',
      operationId: method === 'PUT' ? 'issueAddSubscription' : 'issueDeleteSubscription',
      summary:
        method === 'PUT'
          ? 'Follow an issue: 201, or 200 when the user already follows it; administrators can subscribe others'
          : 'Stop following an issue: 201, or 200 when the user did not; administrators can unsubscribe others',
      params: ofUser,
      responses: { 200: Empty, 201: Empty, 403: Forbidden, 404: NotFound },
      handle: async ({ user, params }, { hosting }) => {
        const name = repositoryNameOf(params)
        const isSubscribed = method === 'PUT'
        return replyChanged(
          await hosting.issueSubscriptions.set(user, name, params.index, params.username, isSubscribed),
        )
      },
    }),
  ),
]
