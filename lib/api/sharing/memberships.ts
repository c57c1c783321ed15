/** Who belongs to an organization, as others see it. */
import * as v from 'valibot'
import { example } from '../fields.ts'
import { at } from '../route.ts'
import { userView } from '../users.ts'

export const OrganizationPermissions = v.object({
  is_owner: v.boolean(),
  is_admin: v.boolean(),
  can_write: example(v.boolean(), true),
  can_read: example(v.boolean(), true),
  can_create_repository: example(v.boolean(), true),
})

const members = at('/orgs/{org}', { scope: 'organization' })

export const membershipRoutes = [
  members.list('orgListMembers', '/members', {
    summary:
      'The members of an organization; members see all of them, other users those whose membership is public',
    of: userView,
    run: ({ user, params, page }, { hosting }) => hosting.memberships.list(user, params.org, page),
  }),
  members.list('orgListPublicMembers', '/public_members', {
    summary: 'The members of an organization whose membership is public',
    of: userView,
    run: ({ user, params, page }, { hosting }) =>
      hosting.memberships.list(user, params.org, page, { publicOnly: true }),
  }),
  members.get('orgIsPublicMember', '/public_members/{username}', {
    summary: 'Whether the membership of a user is public: 204 when so, 404 otherwise',
    run: ({ user, params }, { hosting }) => hosting.memberships.isPublic(user, params.org, params.username),
  }),
  members.put('orgPublicizeMember', '/public_members/{username}', {
    summary: "Make the signed-in user's membership public",
    run: ({ user, params }, { hosting }) =>
      hosting.memberships.setPublic(user, params.org, params.username, true),
  }),
  members.delete('orgConcealMember', '/public_members/{username}', {
    summary: "Hide the signed-in user's membership",
    run: ({ user, params }, { hosting }) =>
      hosting.memberships.setPublic(user, params.org, params.username, false),
  }),
  at('/users/{username}/orgs/{org}', {
    tag: 'organization',
    scope: ['user', 'organization'],
    reads: 'required',
  }).get('orgGetUserPermissions', '/permissions', {
    summary: 'What a user may do in an organization; users ask for themselves, administrators for everyone',
    of: OrganizationPermissions,
    run: async ({ user, params }, { hosting }) => {
      const found = await hosting.memberships.permissions(user, params.username, params.org)
      return (
        found && {
          is_owner: found.isOwner,
          is_admin: found.isAdmin,
          can_write: found.canWrite,
          can_read: found.canRead,
          can_create_repository: found.canCreateRepository,
        }
      )
    },
  }),
]
