import * as v from 'valibot'
import { Empty, NotFound } from '../http/index.ts'
import { relatedRepository } from './fields.ts'
import { Repository, replyRepositories } from './repository-presenter.ts'
import { reply, replyEmpty, route } from './route.ts'

const readOwn = { auth: 'required', scope: ['read:user', 'read:repository'], tag: 'user' } as const
const write = { auth: 'required', scope: ['write:user', 'write:repository'], tag: 'user' } as const

export const starredRoutes = [
  route({
    ...readOwn,
    method: 'GET',
    path: '/user/starred',
    operationId: 'userCurrentListStarred',
    summary: 'The repositories that the signed-in user has starred',
    paging: 'lenient',
    responses: { 200: v.array(Repository) },
    handle: async (request, services) => {
      const { user, page } = request
      const starred = await services.hosting.relations.stars.list(user, user.id, page)
      return replyRepositories(services, request, starred)
    },
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
    ...write,
    method: 'PUT',
    path: '/user/starred/{username}/{reponame}',
    operationId: 'userCurrentPutStar',
    summary: 'Star a repository',
    responses: { 204: Empty, 404: NotFound },
    handle: async ({ user, params }, { hosting }) =>
      replyEmpty((await hosting.relations.stars.set(user, relatedRepository(params))) !== undefined),
  }),
  route({
    ...write,
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
    paging: 'lenient',
    responses: { 200: v.array(Repository), 404: NotFound },
    handle: async (request, services) => {
      const { user, params, page } = request
      const account = await services.hosting.accounts.find(user, params.username)
      if (account === undefined) return reply(404)
      const starred = await services.hosting.relations.stars.list(user, account.id, page)
      return replyRepositories(services, request, starred)
    },
  }),
]
