import * as v from 'valibot'
import type { Viewer } from '../accounts/access.ts'
import { AllotError } from '../errors.ts'
import { Empty, NotFound, ValidationError } from '../http/index.ts'
import type { Account } from '../records/schema/index.ts'
import { reply, replyEmpty, route, type Services } from './route.ts'
import { replyUsers, User } from './users.ts'

/**
 * The account of a path segment that the specification writes with a colon: `:alice` and `alice` both mean
 * alice, and the placeholder itself, sent as it is, means the caller.
 * @throws AllotError unauthenticated for the placeholder without credentials
 */
const accountOrCaller = (
  { hosting }: Services,
  viewer: Viewer,
  segment: string,
  placeholder: `:${string}`,
): Promise<Account | undefined> => {
  if (segment !== placeholder) return hosting.accounts.find(viewer, segment.replace(/^:/, ''))
  if (viewer === null) throw new AllotError('unauthenticated', `${placeholder} stands for the signed-in user`)
  return hosting.accounts.byId(viewer.id)
}

const readOwn = { auth: 'required', scope: 'read:user', tag: 'user' } as const
const write = { auth: 'required', scope: 'write:user', tag: 'user' } as const
const read = { auth: 'optional', scope: 'read:user', tag: 'user' } as const

export const followingRoutes = [
  route({
    ...readOwn,
    method: 'GET',
    path: '/user/followers',
    operationId: 'userCurrentListFollowers',
    summary: "The signed-in user's followers",
    paging: 'pages',
    responses: { 200: v.array(User) },
    handle: async (request, { hosting }) => {
      const { user, page } = request
      return replyUsers(request, await hosting.relations.follows.followers(user, user.id, page))
    },
  }),
  route({
    ...readOwn,
    method: 'GET',
    path: '/user/following',
    operationId: 'userCurrentListFollowing',
    summary: 'The users that the signed-in user follows',
    paging: 'pages',
    responses: { 200: v.array(User) },
    handle: async (request, { hosting }) => {
      const { user, page } = request
      return replyUsers(request, await hosting.relations.follows.following(user, user.id, page))
    },
  }),
  route({
    ...readOwn,
    method: 'GET',
    path: '/user/following/{username}',
    operationId: 'userCurrentCheckFollowing',
    summary: 'Whether the signed-in user follows a user: 204 when followed, 404 otherwise',
    responses: { 204: Empty, 404: NotFound },
    handle: async ({ user, params }, { hosting }) =>
      replyEmpty(await hosting.relations.follows.check(user, user.id, params.username)),
  }),
  route({
    ...write,
    method: 'PUT',
    path: '/user/following/{username}',
    operationId: 'userCurrentPutFollow',
    summary: 'Follow a user',
    responses: { 204: Empty, 404: NotFound, 422: ValidationError },
    handle: async ({ user, params }, { hosting }) =>
      replyEmpty(await hosting.relations.follows.follow(user, params.username)),
  }),
  route({
    ...write,
    method: 'DELETE',
    path: '/user/following/{username}',
    operationId: 'userCurrentDeleteFollow',
    summary: 'Unfollow a user',
    responses: { 204: Empty, 404: NotFound },
    handle: async ({ user, params }, { hosting }) =>
      replyEmpty(await hosting.relations.follows.unfollow(user, params.username)),
  }),
  route({
    ...read,
    method: 'GET',
    path: '/users/{username}/followers',
    operationId: 'userListFollowers',
    summary: "A user's followers; also as /users/:username/followers",
    paging: 'pages',
    responses: { 200: v.array(User), 404: NotFound },
    handle: async (request, services) => {
      const { user, params, page } = request
      const account = await accountOrCaller(services, user, params.username, ':username')
      if (account === undefined) return reply(404)
      return replyUsers(request, await services.hosting.relations.follows.followers(user, account.id, page))
    },
  }),
  route({
    ...read,
    method: 'GET',
    path: '/users/{username}/following',
    operationId: 'userListFollowing',
    summary: 'The users that a user follows',
    paging: 'pages',
    responses: { 200: v.array(User), 404: NotFound },
    handle: async (request, { hosting }) => {
      const { user, params, page } = request
      const account = await hosting.accounts.find(user, params.username)
      if (account === undefined) return reply(404)
      return replyUsers(request, await hosting.relations.follows.following(user, account.id, page))
    },
  }),
  route({
    ...read,
    method: 'GET',
    path: '/users/{username}/following/{target}',
    operationId: 'userCheckFollowing',
    summary: 'Whether one user follows another; also as /users/{username}/following/:target',
    responses: { 204: Empty, 404: NotFound },
    handle: async ({ user, params }, services) => {
      const { accounts, relations } = services.hosting
      const account = await accounts.find(user, params.username)
      const target = await accountOrCaller(services, user, params.target, ':target')
      if (account === undefined || target === undefined) return reply(404)
      return replyEmpty(await relations.follows.check(user, account.id, target.name))
    },
  }),
]
