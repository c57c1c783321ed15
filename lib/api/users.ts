import * as v from 'valibot'
import { NotFound, serializeOnce } from '../http/index.ts'
import type { Profile } from '../repositories/lists.ts'
import { userPage } from './list-response.ts'
import { accountGone } from './resolve-account.ts'
import { reply, route } from './route.ts'
import { User, userResource } from './user-schema.ts'

const presentedProfile = serializeOnce(
  ({ viewer, account, followers, following, starred }: Profile, baseUrl: string): User =>
    userResource(account, viewer, baseUrl, {
      followers_count: followers,
      following_count: following,
      starred_repos_count: starred,
    }),
)

export const userRoutes = [
  route({
    method: 'GET',
    path: '/user',
    operationId: 'userGetCurrent',
    tag: 'user',
    summary: 'The signed-in user',
    auth: 'required',
    scope: 'read:user',
    cacheable: true,
    responses: { 200: User },
    handle: async ({ user, baseUrl }, { hosting }) => {
      const profile = await hosting.profiles.byId(user, user.id)
      if (profile === undefined) throw accountGone()
      return reply(200, presentedProfile(profile, baseUrl))
    },
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
    query: v.object({
      q: v.optional(v.pipe(v.string(), v.maxLength(255))),
      uid: v.optional(v.pipe(v.number(), v.integer())),
    }),
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
    cacheable: true,
    responses: { 200: User, 404: NotFound },
    handle: async ({ user, params, baseUrl }, { hosting }) => {
      const profile = await hosting.profiles.byName(user, params.username)
      return profile === undefined ? reply(404) : reply(200, presentedProfile(profile, baseUrl))
    },
  }),
]
