/** Who follows an issue. */
import type { Identity } from '../../accounts/access.ts'
import { accounts } from '../../records/schema/index.ts'
import type { RepositoryName } from '../../repositories/names.ts'
import { issueIndex } from '../fields.ts'
import { Otherwise } from '../kit.ts'
import { watchView } from '../relations.ts'
import { repositoryUrls } from '../repository-presenter.ts'
import { at, type Services } from '../route.ts'
import { userView } from '../users.ts'

const subscriptions = at('/repos/{owner}/{repo}/issues/{index}/subscriptions', {
  scope: 'issue',
  ids: { index: issueIndex },
})

type Subscriber = { readonly username: string; readonly index: number }

/** Clients expect 201 for a change and 200 when there was nothing to change, both without a body. */
const setSubscription = async (
  { user, repository, params }: { user: Identity; repository: RepositoryName; params: Subscriber },
  { hosting }: Services,
  isSubscribed: boolean,
) => {
  const { index, username } = params
  const changed = await hosting.issueSubscriptions.set(user, repository, index, username, isSubscribed)
  return changed === false ? new Otherwise(true) : changed
}

export const issueSubscriptionRoutes = [
  subscriptions.list('issueSubscriptions', '', {
    summary: 'The users who subscribed to an issue, or wrote it or a comment on it',
    of: userView,
    run: ({ user, repository, params, page, client }, { hosting }) =>
      hosting.issueSubscriptions.list(user, repository, params.index, page, client()),
  }),
  subscriptions.get('issueCheckSubscription', '/check', {
    reads: 'required',
    summary: 'Whether the signed-in user follows an issue',
    of: watchView,
    run: async (request, { store, hosting }) => {
      const { user, repository: name, params } = request
      const found = await hosting.issueSubscriptions.check(user, name, params.index)
      if (found === undefined) return undefined
      const { repository, issue, isSubscribed } = found
      const owner = await store.read((tx) => accounts.get(tx, [repository.owner]))
      if (owner === undefined) return undefined
      const { api } = repositoryUrls({ owner, repository }, request)
      const url = `${api}/issues/${issue.number}/subscriptions`
      return { subscribed: isSubscribed, since: issue.createdAt, url, repository: api }
    },
  }),
  subscriptions.put('issueAddSubscription', '/{username}', {
    summary:
      'Follow an issue: 201, or 200 when the user already follows it; administrators can subscribe others',
    status: [201, 200],
    run: (request, services) => setSubscription(request, services, true),
  }),
  subscriptions.delete('issueDeleteSubscription', '/{username}', {
    summary:
      'Stop following an issue: 201, or 200 when the user did not; administrators can unsubscribe others',
    status: [201, 200],
    run: (request, services) => setSubscription(request, services, false),
  }),
]
