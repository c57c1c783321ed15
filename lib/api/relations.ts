/** Stars and watches of repositories. */
import * as v from 'valibot'
import { Empty, NotFound, ValidationError } from '../http/index.ts'
import type { Slice } from '../records/pages.ts'
import type { RepositoryName } from '../repositories/names.ts'
import type { Related, Relations } from '../repositories/relations.ts'
import { example, repositoryNameOf, Time, text, timestamp } from './fields.ts'
import { Repository, readRepository, replyRepositories } from './repository-presenter.ts'
import { type Recipient, reply, replyEmpty, repositoryWrite, route, type Services } from './route.ts'
import { replyUsers, User } from './users.ts'

/** The specification writes the repository of a star or a subscription as `{username}/{reponame}`. */
const relatedRepository = (params: { username: string; reponame: string }): RepositoryName => ({
  owner: params.username,
  name: params.reponame,
})

/** Replies with the repositories that an account has the relation to. */
const replyRelated = async (
  services: Services,
  request: Recipient & { page: Slice },
  relation: Exclude<keyof Relations, 'follows'>,
  account: number,
) => {
  const related = await services.hosting.relations[relation].list(request.user, account, request.page)
  return replyRepositories(services, request, related)
}

/** Replies with the relations of a user, who must be visible. */
const replyRelatedOf = async (
  services: Services,
  request: Recipient & { page: Slice },
  relation: Exclude<keyof Relations, 'follows'>,
  username: string,
) => {
  const account = await services.hosting.accounts.find(request.user, username)
  return account === undefined ? reply(404) : replyRelated(services, request, relation, account.id)
}

const readOwn = { auth: 'required', scope: ['read:user', 'read:repository'], tag: 'user' } as const
const writeOwn = { auth: 'required', scope: ['write:user', 'write:repository'], tag: 'user' } as const

export const starredRoutes = [
  route({
    ...readOwn,
    method: 'GET',
    path: '/user/starred',
    operationId: 'userCurrentListStarred',
    summary: 'The repositories that the signed-in user has starred',
    paging: 'pages',
    responses: { 200: v.array(Repository) },
    handle: (request, services) => replyRelated(services, request, 'stars', request.user.id),
  }),
  route({
    ...readOwn,
    method: 'GET',
    path: '/user/starred/{username}/{reponame}',
    operationId: 'userCurrentCheckStarring',
    summary: 'Whether the signed-in user has starred a repository: 204 when starred, 404 otherwise',
    responses: { 204: Empty, 404: NotFound },
    handle: async ({ user, params }, { hosting }) =>
      replyEmpty((await hosting.relations.stars.check(user, relatedRepository(params))) !== undefined),
  }),
  route({
    ...writeOwn,
    method: 'PUT',
    path: '/user/starred/{username}/{reponame}',
    operationId: 'userCurrentPutStar',
    summary: 'Star a repository',
    responses: { 204: Empty, 404: NotFound },
    handle: async ({ user, params }, { hosting }) =>
      replyEmpty((await hosting.relations.stars.set(user, relatedRepository(params))) !== undefined),
  }),
  route({
    ...writeOwn,
    method: 'DELETE',
    path: '/user/starred/{username}/{reponame}',
    operationId: 'userCurrentDeleteStar',
    summary: 'Unstar a repository',
    responses: { 204: Empty, 404: NotFound },
    handle: async ({ user, params }, { hosting }) =>
      replyEmpty((await hosting.relations.stars.clear(user, relatedRepository(params))) !== undefined),
  }),
  route({
    method: 'GET',
    path: '/users/{username}/starred',
    operationId: 'userListStarred',
    tag: 'user',
    summary: 'The repositories that a user has starred',
    auth: 'optional',
    scope: 'read:user',
    paging: 'pages',
    responses: { 200: v.array(Repository), 404: NotFound },
    handle: (request, services) => replyRelatedOf(services, request, 'stars', request.params.username),
  }),
]

/** Replies with the users who have the relation to a repository. */
const replyRelatedUsers = async (
  { hosting }: Services,
  request: Recipient & { page: Slice; params: { owner: string; repo: string } },
  relation: Exclude<keyof Relations, 'follows'>,
) => {
  const name = repositoryNameOf(request.params)
  const users = await hosting.relations[relation].accounts(request.user, name, request.page)
  return users === undefined ? reply(404) : replyUsers(request, users)
}

const readUsers = {
  auth: 'optional',
  scope: 'read:repository',
  tag: 'repository',
  paging: 'pages',
} as const

export const relatedUserRoutes = [
  route({
    ...readUsers,
    method: 'GET',
    path: '/repos/{owner}/{repo}/stargazers',
    operationId: 'repoListStargazers',
    summary: 'The users who have starred a repository',
    responses: { 200: v.array(User), 404: NotFound },
    handle: (request, services) => replyRelatedUsers(services, request, 'stars'),
  }),
  route({
    ...readUsers,
    method: 'GET',
    path: '/repos/{owner}/{repo}/subscribers',
    operationId: 'repoListSubscribers',
    summary: 'The users who watch a repository',
    responses: { 200: v.array(User), 404: NotFound },
    handle: (request, services) => replyRelatedUsers(services, request, 'watches'),
  }),
]

export const WatchInfo = v.object({
  subscribed: example(v.boolean(), true),
  ignored: v.boolean(),
  reason: v.null(),
  created_at: Time,
  url: text('https://code.example.org/api/v1/repos/alice/app/subscription'),
  repository_url: text('https://code.example.org/api/v1/repos/alice/app'),
})

/** A repository is watched or not; Allot ignores none. */
const WatchOption = v.object({
  subscribed: v.optional(v.literal(true)),
  ignored: v.optional(v.literal(false)),
})

/** `created_at` is the time of the subscription. Forgejo has that of the repository there. */
const replyWatch = async (services: Services, request: Recipient, watched: Related | undefined) => {
  if (watched === undefined) return reply(404)
  const { url } = await readRepository(services, request, watched.repository)
  return reply(200, {
    subscribed: true,
    ignored: false,
    reason: null,
    created_at: timestamp(watched.since),
    url: `${url}/subscription`,
    repository_url: url,
  })
}

export const subscriptionRoutes = [
  route({
    method: 'GET',
    path: '/repos/{username}/{reponame}/subscription',
    operationId: 'userCurrentCheckSubscription',
    tag: 'repository',
    summary: 'Whether the signed-in user watches a repository',
    auth: 'required',
    scope: 'read:repository',
    responses: { 200: WatchInfo, 404: NotFound },
    handle: async (request, services) => {
      const { watches } = services.hosting.relations
      const watched = await watches.check(request.user, relatedRepository(request.params))
      return replyWatch(services, request, watched)
    },
  }),
  route({
    ...repositoryWrite,
    method: 'PUT',
    path: '/repos/{username}/{reponame}/subscription',
    operationId: 'userCurrentPutSubscription',
    summary: 'Watch a repository',
    body: WatchOption,
    responses: { 200: WatchInfo, 404: NotFound, 422: ValidationError },
    handle: async (request, services) => {
      const { watches } = services.hosting.relations
      const watched = await watches.set(request.user, relatedRepository(request.params))
      return replyWatch(services, request, watched)
    },
  }),
  route({
    ...repositoryWrite,
    method: 'DELETE',
    path: '/repos/{username}/{reponame}/subscription',
    operationId: 'userCurrentDeleteSubscription',
    summary: 'Stop watching a repository',
    responses: { 204: Empty, 404: NotFound },
    handle: async ({ user, params }, { hosting }) =>
      replyEmpty((await hosting.relations.watches.clear(user, relatedRepository(params))) !== undefined),
  }),
  route({
    method: 'GET',
    path: '/user/subscriptions',
    operationId: 'userCurrentListSubscriptions',
    tag: 'user',
    summary: 'The repositories that the signed-in user watches',
    auth: 'required',
    scope: 'read:user',
    paging: 'pages',
    responses: { 200: v.array(Repository) },
    handle: (request, services) => replyRelated(services, request, 'watches', request.user.id),
  }),
  route({
    method: 'GET',
    path: '/users/{username}/subscriptions',
    operationId: 'userListSubscriptions',
    tag: 'user',
    summary: 'The repositories that a user watches',
    auth: 'optional',
    scope: 'read:user',
    paging: 'pages',
    responses: { 200: v.array(Repository), 404: NotFound },
    handle: (request, services) => replyRelatedOf(services, request, 'watches', request.params.username),
  }),
]
