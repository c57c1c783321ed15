import * as v from 'valibot'
import { Empty, NotFound } from '../http/index.ts'
import { userPage } from './list-response.ts'
import { accountNamed, accountOrCaller } from './resolve-account.ts'
import { reply, route } from './route.ts'
import { User } from './user-schema.ts'

export const followingRoutes = [
  route({
    method: 'GET',
    path: '/user/followers',
    operationId: 'userCurrentListFollowers',
    tag: 'user',
    summary: "The signed-in user's followers",
    auth: 'required',
    scope: 'read:user',
    paging: 'lenient',
    responses: { 200: v.array(User) },
    handle: async (request, { hosting }) => {
      const { user, page } = request
      return userPage(request, await hosting.relations.follows.followers(user, user.id, page))
    },
  }),
  route({
    method: 'GET',
    path: '/user/following',
    operationId: 'userCurrentListFollowing',
    tag: 'user',
    summary: 'The users that the signed-in user follows',
    auth: 'required',
    scope: 'read:user',
    paging: 'lenient',
    responses: { 200: v.array(User) },
    handle: async (request, { hosting }) => {
      const { user, page } = request
      return userPage(request, await hosting.relations.follows.following(user, user.id, page))
    },
  }),
  route({
    method: 'GET',
    path: '/user/following/{username}',
    operationId: 'userCurrentCheckFollowing',
    tag: 'user',
    summary: 'Whether the signed-in user follows a user: 204 when followed, 404 otherwise',
    auth: 'required',
    scope: 'read:user',
    responses: { 204: Empty, 404: NotFound },
    handle: async ({ user, params }, { hosting }) =>
      (await hosting.relations.follows.check(user, user.id, params.username)) ? reply(204) : reply(404),
  }),
  route({
    method: 'PUT',
    path: '/user/following/{username}',
    operationId: 'userCurrentPutFollow',
    tag: 'user',
    summary: 'Follow a user',
    auth: 'required',
    scope: 'write:user',
    responses: { 204: Empty, 404: NotFound },
    handle: async ({ user, params }, { hosting }) =>
      (await hosting.relations.follows.follow(user, params.username)) ? reply(204) : reply(404),
  }),
  route({
    method: 'DELETE',
    path: '/user/following/{username}',
    operationId: 'userCurrentDeleteFollow',
    tag: 'user',
    summary: 'Unfollow a user',
    auth: 'required',
    scope: 'write:user',
    responses: { 204: Empty, 404: NotFound },
    handle: async ({ user, params }, { hosting }) =>
      (await hosting.relations.follows.unfollow(user, params.username)) ? reply(204) : reply(404),
  }),
  // The document lists the next path and `/users/{username}/following/:target` with a literal colon segment:
  // `:alice` means alice there, and the unsubstituted `:username` and `:target` mean the caller.
  route({
    method: 'GET',
    path: '/users/{username}/followers',
    operationId: 'userListFollowers',
    tag: 'user',
    summary: "A user's followers; also as /users/:username/followers",
    auth: 'optional',
    scope: 'read:user',
    paging: 'lenient',
    responses: { 200: v.array(User), 404: NotFound },
    handle: async (request, services) => {
      const { user, params, page } = request
      const account = await accountOrCaller(services, user, params.username, ':username')
      if (account === undefined) return reply(404)
      return userPage(request, await services.hosting.relations.follows.followers(user, account.id, page))
    },
  }),
  route({
    method: 'GET',
    path: '/users/{username}/following',
    operationId: 'userListFollowing',
    tag: 'user',
    summary: 'The users that a user follows',
    auth: 'optional',
    scope: 'read:user',
    paging: 'lenient',
    responses: { 200: v.array(User), 404: NotFound },
    handle: async (request, services) => {
      const { user, params, page } = request
      const account = await accountNamed(services, user, params.username)
      if (account === undefined) return reply(404)
      return userPage(request, await services.hosting.relations.follows.following(user, account.id, page))
    },
  }),
  route({
    method: 'GET',
    path: '/users/{username}/following/{target}',
    operationId: 'userCheckFollowing',
    tag: 'user',
    summary: 'Whether one user follows another; also as /users/{username}/following/:target',
    auth: 'optional',
    scope: 'read:user',
    responses: { 204: Empty, 404: NotFound },
    handle: async ({ user, params }, services) => {
      const account = await accountNamed(services, user, params.username)
      const target = await accountOrCaller(services, user, params.target, ':target')
      if (account === undefined || target === undefined) return reply(404)
      const { follows } = services.hosting.relations
      return (await follows.check(user, account.id, target.name)) ? reply(204) : reply(404)
    },
  }),
]
