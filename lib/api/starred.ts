import * as v from 'valibot'
import { Empty, NotFound } from '../http/index.ts'
import { repositoryPage } from './list-response.ts'
import { Repository } from './repository-schema.ts'
import { accountNamed } from './resolve-account.ts'
import { reply, route } from './route.ts'

export const starredRoutes = [
  route({
    method: 'GET',
    path: '/user/starred',
    operationId: 'userCurrentListStarred',
    tag: 'user',
    summary: 'The repositories that the signed-in user has starred',
    auth: 'required',
    scope: ['read:user', 'read:repository'],
    paging: 'lenient',
    responses: { 200: v.array(Repository) },
    handle: async (request, services) => {
      const { user, page } = request
      return repositoryPage(
        services,
        request,
        await services.hosting.relations.stars.list(user, user.id, page),
      )
    },
  }),
  route({
    method: 'GET',
    path: '/user/starred/{username}/{reponame}',
    operationId: 'userCurrentCheckStarring',
    tag: 'user',
    summary: 'Whether the signed-in user has starred a repository: 204 when starred, 404 otherwise',
    auth: 'required',
    scope: ['read:user', 'read:repository'],
    responses: { 204: Empty, 404: NotFound },
    handle: async ({ user, params }, { hosting }) => {
      const name = { owner: params.username, name: params.reponame }
      return (await hosting.relations.stars.check(user, name)) === undefined ? reply(404) : reply(204)
    },
  }),
  route({
    method: 'PUT',
    path: '/user/starred/{username}/{reponame}',
    operationId: 'userCurrentPutStar',
    tag: 'user',
    summary: 'Star a repository',
    auth: 'required',
    scope: ['write:user', 'write:repository'],
    responses: { 204: Empty, 404: NotFound },
    handle: async ({ user, params }, { hosting }) => {
      const name = { owner: params.username, name: params.reponame }
      return (await hosting.relations.stars.set(user, name)) === undefined ? reply(404) : reply(204)
    },
  }),
  route({
    method: 'DELETE',
    path: '/user/starred/{username}/{reponame}',
    operationId: 'userCurrentDeleteStar',
    tag: 'user',
    summary: 'Unstar a repository',
    auth: 'required',
    scope: ['write:user', 'write:repository'],
    responses: { 204: Empty, 404: NotFound },
    handle: async ({ user, params }, { hosting }) => {
      const name = { owner: params.username, name: params.reponame }
      return (await hosting.relations.stars.clear(user, name)) === undefined ? reply(404) : reply(204)
    },
  }),
  route({
    method: 'GET',
    path: '/users/{username}/starred',
    operationId: 'userListStarred',
    tag: 'user',
    summary: 'The repositories that a user has starred',
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
        await services.hosting.relations.stars.list(user, account.id, page),
      )
    },
  }),
]
