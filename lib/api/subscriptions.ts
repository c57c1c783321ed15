import * as v from 'valibot'
import { Empty, NotFound } from '../http/index.ts'
import type { Repository as Record } from '../records/schema/index.ts'
import { repositoryPage } from './list-response.ts'
import { presentRepository, type Urls } from './repository-presenter.ts'
import { Repository } from './repository-schema.ts'
import { accountNamed } from './resolve-account.ts'
import { reply, route, type Services } from './route.ts'
import { WatchInfo, watchResource } from './watch-schema.ts'

const watchInfo = async (
  { store }: Services,
  viewer: { id: number; admin: boolean },
  urls: Urls,
  record: Record,
) => watchResource(await presentRepository(store, viewer, urls, record))

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
      const { user, params } = request
      const name = { owner: params.username, name: params.reponame }
      const watched = await services.hosting.relations.watches.check(user, name)
      return watched === undefined
        ? reply(404)
        : reply(200, await watchInfo(services, user, request, watched))
    },
  }),
  route({
    method: 'PUT',
    path: '/repos/{username}/{reponame}/subscription',
    operationId: 'userCurrentPutSubscription',
    tag: 'repository',
    summary: 'Watch a repository',
    auth: 'required',
    scope: 'write:repository',
    responses: { 200: WatchInfo, 404: NotFound },
    handle: async (request, services) => {
      const { user, params } = request
      const name = { owner: params.username, name: params.reponame }
      const watched = await services.hosting.relations.watches.set(user, name)
      return watched === undefined
        ? reply(404)
        : reply(200, await watchInfo(services, user, request, watched))
    },
  }),
  route({
    method: 'DELETE',
    path: '/repos/{username}/{reponame}/subscription',
    operationId: 'userCurrentDeleteSubscription',
    tag: 'repository',
    summary: 'Stop watching a repository',
    auth: 'required',
    scope: 'write:repository',
    responses: { 204: Empty, 404: NotFound },
    handle: async ({ user, params }, { hosting }) => {
      const name = { owner: params.username, name: params.reponame }
      return (await hosting.relations.watches.clear(user, name)) === undefined ? reply(404) : reply(204)
    },
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
      return repositoryPage(
        services,
        request,
        await services.hosting.relations.watches.list(user, user.id, page),
      )
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
      const account = await accountNamed(services, user, params.username)
      if (account === undefined) return reply(404)
      return repositoryPage(
        services,
        request,
        await services.hosting.relations.watches.list(user, account.id, page),
      )
    },
  }),
]
