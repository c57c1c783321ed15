/** Who follows an issue. */
import * as v from 'valibot'
import { Empty, NotFound } from '../../http/index.ts'
import { accounts } from '../../records/schema/index.ts'
import { issueIndex, repositoryNameOf, repositoryParams, timestamp } from '../fields.ts'
import { WatchInfo } from '../relations.ts'
import { repositoryUrls } from '../repository-presenter.ts'
import { at, reply, route } from '../route.ts'
import { userView } from '../users.ts'

const subscriptions = at('/repos/{owner}/{repo}/issues/{index}/subscriptions', {
  tag: 'issue',
  scope: 'issue',
  ids: { index: issueIndex },
})

/** Clients expect 201 for a change and 200 when there was nothing to change, both without a body. */
const replyChanged = (isChanged: boolean | undefined) => {
  if (isChanged === undefined) return reply(404)
  return isChanged ? reply(201) : reply(200)
}

export const issueSubscriptionRoutes = [
  subscriptions.list('issueSubscriptions', '', {
    summary: 'The users who subscribed to an issue, or wrote it or a comment on it',
    of: userView,
    run: ({ user, repository, params, page }, { hosting }) =>
      hosting.issueSubscriptions.list(user, repository, params.index, page),
  }),
  subscriptions.get('issueCheckSubscription', '/check', {
    reads: 'required',
    summary: 'Whether the signed-in user follows an issue',
    of: WatchInfo,
    run: async (request, { store, hosting }) => {
      const { user, repository: name, params } = request
      const found = await hosting.issueSubscriptions.check(user, name, params.index)
      if (found === undefined) return undefined
      const { repository, issue, isSubscribed } = found
      const owner = await store.read((tx) => accounts.get(tx, [repository.owner]))
      if (owner === undefined) return undefined
      const { api } = repositoryUrls({ owner, repository }, request)
      return {
        subscribed: isSubscribed,
        ignored: !isSubscribed,
        reason: null,
        created_at: timestamp(issue.createdAt),
        url: `${api}/issues/${issue.number}/subscriptions`,
        repository_url: api,
      }
    },
  }),
  ...(['PUT', 'DELETE'] as const).map((method) =>
    route({
      method,
      path: '/repos/{owner}/{repo}/issues/{index}/subscriptions/{username}',
      operationId: method === 'PUT' ? 'issueAddSubscription' : 'issueDeleteSubscription',
      tag: 'issue',
      summary:
        method === 'PUT'
          ? 'Follow an issue: 201, or 200 when the user already follows it; administrators can subscribe others'
          : 'Stop following an issue: 201, or 200 when the user did not; administrators can unsubscribe others',
      auth: 'required',
      scope: 'write:issue',
      params: v.object({ ...repositoryParams, index: issueIndex, username: v.string() }),
      responses: { 200: Empty, 201: Empty, 404: NotFound },
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
