import * as v from 'valibot'
import type { Viewer } from '../hosting/access.ts'
import { NotFound } from '../http/index.ts'
import type { Account } from '../records/schema.ts'
import { User, type UserCounts, userResource } from '../resources/user.ts'
import { reply, route, type Services } from './declare.ts'
import { accountNamed, signedIn } from './named.ts'
import { type Asked, userPage } from './pages.ts'

/** A profile says how many relations the viewer can list. */
const profile = async (services: Services, { user, baseUrl }: Asked, account: Account): Promise<User> =>
  userResource(account, user, baseUrl, await countsOf(services, user, account.id))

const NONE = { offset: 0, limit: 0 }

const countsOf = async ({ hosting }: Services, viewer: Viewer, id: number): Promise<UserCounts> => {
  const { follows, stars } = hosting.relations
  const [followers, following, starred] = await Promise.all([
    follows.followers(viewer, id, NONE),
    follows.following(viewer, id, NONE),
    stars.list(viewer, id, NONE),
  ])
  return {
    followers_count: followers.total,
    following_count: following.total,
    starred_repos_count: starred.total,
  }
}

export const userRoutes = [
  route({
    method: 'GET',
    path: '/user',
    operationId: 'userGetCurrent',
    tag: 'user',
    summary: 'The signed-in user',
    auth: 'required',
    scope: 'read:user',
    ofRecords: true,
    responses: { 200: User },
    handle: async (request, services) =>
      reply(200, await profile(services, request, await signedIn(services, request.user))),
  }),
  route({
    method: 'GET',
    path: '/users/search',
    operationId: 'userSearch',
    tag: 'user',
    summary: 'Search users by a part of the login or full name',
    auth: 'optional',
    scope: 'read:user',
    paging: 'lenient',
    query: v.object({ q: v.optional(v.string()), uid: v.optional(v.pipe(v.number(), v.integer())) }),
    // The bare array is the document's UserList; a Forgejo wraps it.
    responses: { 200: v.union([v.array(User), v.object({ ok: v.boolean(), data: v.array(User) })]) },
    handle: async (request, { hosting, dialect }) => {
      const { user, query, page } = request
      const found = userPage(
        request,
        await hosting.search.users(user, { q: query.q, id: query.uid || undefined }, page),
      )
      return dialect === 'forgejo' ? { ...found, body: { ok: true, data: found.body } } : found
    },
  }),
  route({
    method: 'GET',
    path: '/users/{username}',
    operationId: 'userGet',
    tag: 'user',
    summary: 'A user',
    auth: 'optional',
    scope: 'read:user',
    ofRecords: true,
    responses: { 200: User, 404: NotFound },
    handle: async (request, services) => {
      const account = await accountNamed(services, request.user, request.params.username)
      return account === undefined ? reply(404) : reply(200, await profile(services, request, account))
    },
  }),
]
