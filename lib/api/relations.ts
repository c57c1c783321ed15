/** Stars and watches of repositories. */
import * as v from 'valibot'
import type { Viewer } from '../accounts/access.ts'
import type { Slice } from '../records/pages.ts'
import type { RepositoryName } from '../repositories/names.ts'
import type { Related, Relations } from '../repositories/relations.ts'
import * as f from './fields.ts'
import { readRepository, repositoryView } from './repository-presenter.ts'
import { at, type Recipient, type Services } from './route.ts'
import { userView } from './users.ts'
import { resource } from './view.ts'

/** The specification writes the repository of a star or a subscription as `{username}/{reponame}`. */
const relatedRepository = (params: { username: string; reponame: string }): RepositoryName => ({
  owner: params.username,
  name: params.reponame,
})

const starred = at('/user/starred', { scope: ['user', 'repository'], reads: 'required' })
const own = at('/user', { scope: 'user', reads: 'required' })
const ofUser = at('/users/{username}', { scope: 'user' })
const ofRepository = at('/repos/{owner}/{repo}', { scope: 'repository' })

interface ListRequest {
  readonly user: Viewer
  readonly params: { readonly username: string }
  readonly page: Slice
  readonly client: () => string
}

/** The repositories that a user has the relation to, who must be visible. */
const relatedOf = async (
  { user, params, page, client }: ListRequest,
  { hosting }: Services,
  relation: Exclude<keyof Relations, 'follows'>,
) => {
  const account = await hosting.accounts.find(user, params.username)
  return account && hosting.relations[relation].list(user, account.id, page, client())
}

export const starredRoutes = [
  starred.list('userCurrentListStarred', '', {
    summary: 'The repositories that the signed-in user has starred',
    of: repositoryView,
    run: ({ user, page, client }, { hosting }) => hosting.relations.stars.list(user, user.id, page, client()),
  }),
  starred.get('userCurrentCheckStarring', '/{username}/{reponame}', {
    summary: 'Whether the signed-in user has starred a repository: 204 when starred, 404 otherwise',
    run: ({ user, params }, { hosting }) => hosting.relations.stars.check(user, relatedRepository(params)),
  }),
  starred.put('userCurrentPutStar', '/{username}/{reponame}', {
    summary: 'Star a repository',
    run: ({ user, params }, { hosting }) => hosting.relations.stars.set(user, relatedRepository(params)),
  }),
  starred.delete('userCurrentDeleteStar', '/{username}/{reponame}', {
    summary: 'Unstar a repository',
    run: ({ user, params }, { hosting }) => hosting.relations.stars.clear(user, relatedRepository(params)),
  }),
  ofUser.list('userListStarred', '/starred', {
    summary: 'The repositories that a user has starred',
    of: repositoryView,
    run: (request, services) => relatedOf(request, services, 'stars'),
  }),
]

export const relatedUserRoutes = [
  ofRepository.list('repoListStargazers', '/stargazers', {
    summary: 'The users who have starred a repository',
    of: userView,
    run: ({ user, repository, page, client }, { hosting }) =>
      hosting.relations.stars.accounts(user, repository, page, client()),
  }),
  ofRepository.list('repoListSubscribers', '/subscribers', {
    summary: 'The users who watch a repository',
    of: userView,
    run: ({ user, repository, page, client }, { hosting }) =>
      hosting.relations.watches.accounts(user, repository, page, client()),
  }),
]

interface Watch {
  readonly subscribed: boolean
  /** Seconds since 1970. */
  readonly since: number
  /** URL of the subscription in the API. */
  readonly url: string
  readonly repository: string
}

export const watchView = resource<Watch>()({
  subscribed: [f.example(v.boolean(), true), ({ subscribed }) => subscribed],
  ignored: [v.boolean(), ({ subscribed }) => !subscribed],
  reason: [v.null(), () => null],
  created_at: [f.Time, ({ since }) => f.timestamp(since)],
  url: [f.link('/api/v1/repos/alice/app/subscription'), ({ url }) => url],
  repository_url: [f.link('/api/v1/repos/alice/app'), ({ repository }) => repository],
})

/** A repository is watched or not; Allot ignores none. */
const WatchOption = v.object({
  subscribed: v.optional(v.literal(true)),
  ignored: v.optional(v.literal(false)),
})

/** `created_at` is the time of the subscription. Forgejo has that of the repository there. */
const watchOf = async (services: Services, request: Recipient, watching: Promise<Related | undefined>) => {
  const watched = await watching
  if (watched === undefined) return undefined
  const { url } = await readRepository(services, request, watched.repository)
  return { subscribed: true, since: watched.since, url: `${url}/subscription`, repository: url }
}

const subscription = at('/repos/{username}/{reponame}/subscription', {
  scope: 'repository',
  reads: 'required',
})

export const subscriptionRoutes = [
  subscription.get('userCurrentCheckSubscription', '', {
    summary: 'Whether the signed-in user watches a repository',
    of: watchView,
    run: (request, services) => {
      const { watches } = services.hosting.relations
      return watchOf(services, request, watches.check(request.user, relatedRepository(request.params)))
    },
  }),
  subscription.put('userCurrentPutSubscription', '', {
    summary: 'Watch a repository',
    body: WatchOption,
    of: watchView,
    run: (request, services) => {
      const { watches } = services.hosting.relations
      return watchOf(services, request, watches.set(request.user, relatedRepository(request.params)))
    },
  }),
  subscription.delete('userCurrentDeleteSubscription', '', {
    summary: 'Stop watching a repository',
    run: ({ user, params }, { hosting }) => hosting.relations.watches.clear(user, relatedRepository(params)),
  }),
  own.list('userCurrentListSubscriptions', '/subscriptions', {
    summary: 'The repositories that the signed-in user watches',
    of: repositoryView,
    run: ({ user, page, client }, { hosting }) =>
      hosting.relations.watches.list(user, user.id, page, client()),
  }),
  ofUser.list('userListSubscriptions', '/subscriptions', {
    summary: 'The repositories that a user watches',
    of: repositoryView,
    run: (request, services) => relatedOf(request, services, 'watches'),
  }),
]
