import * as v from 'valibot'
import { Empty, NotFound } from '../http/index.ts'
import type { Repository as RepositoryRecord } from '../records/schema/index.ts'
import { relatedRepository } from './fields.ts'
import { Repository, readRepository, replyRepositories } from './repository-presenter.ts'
import { type Recipient, reply, replyEmpty, route, type Services } from './route.ts'

export const WatchInfo = v.object({
  subscribed: v.boolean(),
  ignored: v.boolean(),
  reason: v.null(),
  created_at: v.string(),
  url: v.string(),
  repository_url: v.string(),
})

/** `created_at` is that of the repository, as on Gogs, Gitea and Forgejo. */
const presentWatch = (
  repository: Pick<Repository, 'created_at' | 'url'>,
): v.InferOutput<typeof WatchInfo> => ({
  subscribed: true,
  ignored: false,
  reason: null,
  created_at: repository.created_at,
  url: `${repository.url}/subscription`,
  repository_url: repository.url,
})

const replyWatch = async (services: Services, request: Recipient, watched: RepositoryRecord | undefined) =>
  watched === undefined
    ? reply(404)
    : reply(200, presentWatch(await readRepository(services, request, watched)))

const write = { auth: 'required', scope: 'write:repository', tag: 'repository' } as const

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
    ...write,
    method: 'PUT',
    path: '/repos/{username}/{reponame}/subscription',
    operationId: 'userCurrentPutSubscription',
    summary: 'Watch a repository',
    responses: { 200: WatchInfo, 404: NotFound },
    handle: async (request, services) => {
      const { watches } = services.hosting.relations
      const watched = await watches.set(request.user, relatedRepository(request.params))
      return replyWatch(services, request, watched)
    },
  }),
  route({
    ...write,
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
    paging: 'lenient',
    responses: { 200: v.array(Repository) },
    handle: async (request, services) => {
      const { user, page } = request
      const watched = await services.hosting.relations.watches.list(user, user.id, page)
      return replyRepositories(services, request, watched)
    },
  }),
  route({
    method: 'GET',
    path: '/users/{username}/subscriptions',
    operationId: 'userListSubscriptions',
    tag: 'user',
    summary: 'The repositories that a user watches',
    auth: 'optional',
    scope: 'read:user',
    paging: 'lenient',
    responses: { 200: v.array(Repository), 404: NotFound },
    handle: async (request, services) => {
      const { user, params, page } = request
      const account = await services.hosting.accounts.find(user, params.username)
      if (account === undefined) return reply(404)
      const watched = await services.hosting.relations.watches.list(user, account.id, page)
      return replyRepositories(services, request, watched)
    },
  }),
]
