/** Who belongs to an organization, as others see it. */
import * as v from 'valibot'
import { Empty, Forbidden, NotFound } from '../../http/index.ts'
import { example } from '../fields.ts'
import { reply, replyEmpty, replyFound, route } from '../route.ts'
import { replyUsers, User } from '../users.ts'

export const OrganizationPermissions = v.object({
  is_owner: v.boolean(),
  is_admin: v.boolean(),
  can_write: example(v.boolean(), true),
  can_read: example(v.boolean(), true),
  can_create_repository: example(v.boolean(), true),
})

const read = { auth: 'optional', scope: 'read:organization', tag: 'organization' } as const
const write = { auth: 'required', scope: 'write:organization', tag: 'organization' } as const

export const membershipRoutes = [
  route({
    ...read,
    method: 'GET',
    path: '/orgs/{org}/members',
    operationId: 'orgListMembers',
    summary:
      'The members of an organization; members see all of them, other users those whose membership is public',
    paging: 'pages',
    responses: { 200: v.array(User), 404: NotFound },
    handle: async (request, { hosting }) => {
      const found = await hosting.memberships.list(request.user, request.params.org, request.page)
      return found === undefined ? reply(404) : replyUsers(request, found)
    },
  }),
  route({
    ...read,
    method: 'GET',
    path: '/orgs/{org}/public_members',
    operationId: 'orgListPublicMembers',
    summary: 'The members of an organization whose membership is public',
    paging: 'pages',
    responses: { 200: v.array(User), 404: NotFound },
    handle: async (request, { hosting }) => {
      const { user, params, page } = request
      const found = await hosting.memberships.list(user, params.org, page, { publicOnly: true })
      return found === undefined ? reply(404) : replyUsers(request, found)
    },
  }),
  route({
    ...read,
    method: 'GET',
    path: '/orgs/{org}/public_members/{username}',
    operationId: 'orgIsPublicMember',
    summary: 'Whether the membership of a user is public: 204 when so, 404 otherwise',
    responses: { 204: Empty, 404: NotFound },
    handle: async ({ user, params }, { hosting }) =>
      replyEmpty(await hosting.memberships.isPublic(user, params.org, params.username)),
  }),
  route({
    ...write,
    method: 'PUT',
    path: '/orgs/{org}/public_members/{username}',
    operationId: 'orgPublicizeMember',
    summary: "Make the signed-in user's membership public",
    responses: { 204: Empty, 403: Forbidden, 404: NotFound },
    handle: async ({ user, params }, { hosting }) =>
      replyEmpty(await hosting.memberships.setPublic(user, params.org, params.username, true)),
  }),
  route({
    ...write,
    method: 'DELETE',
    path: '/orgs/{org}/public_members/{username}',
    operationId: 'orgConcealMember',
    summary: "Hide the signed-in user's membership",
    responses: { 204: Empty, 403: Forbidden, 404: NotFound },
    handle: async ({ user, params }, { hosting }) =>
      replyEmpty(await hosting.memberships.setPublic(user, params.org, params.username, false)),
  }),
  route({
    method: 'GET',
    path: '/users/{username}/orgs/{org}/permissions',
    operationId: 'orgGetUserPermissions',
    tag: 'organization',
    summary: 'What a user may do in an organization; users ask for themselves, administrators for everyone',
    auth: 'required',
    scope: ['read:user', 'read:organization'],
    responses: { 200: OrganizationPermissions, 404: NotFound },
    handle: async ({ user, params }, { hosting }) => {
      const found = await hosting.memberships.permissions(user, params.username, params.org)
      return replyFound(found, (permissions) => ({
        is_owner: permissions.isOwner,
        is_admin: permissions.isAdmin,
        can_write: permissions.canWrite,
        can_read: permissions.canRead,
        can_create_repository: permissions.canCreateRepository,
      }))
    },
  }),
]
