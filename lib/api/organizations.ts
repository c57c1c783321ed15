import * as v from 'valibot'
import {
  anyAccount,
  authorizeOrganization,
  authorizeRemoveMember,
  visibleUser,
} from '../accounts/authorize.ts'
import { visibleOrganization } from '../accounts/find.ts'
import type { NewOrganization } from '../accounts/organizations.ts'
import { requireScopes } from '../http/index.ts'
import { type Account, Visibility } from '../records/schema/index.ts'
import * as f from './fields.ts'
import { at } from './route.ts'
import { avatarUrl } from './users.ts'
import { resource } from './view.ts'

export const organizationView = resource<Account & { readonly owners?: number }>()({
  id: [f.number(3), ({ id }) => id],
  name: [f.text('acme'), ({ name }) => name],
  full_name: [f.text('Acme'), ({ fullName }) => fullName],
  /** Always empty: an organization has none. */
  email: [f.text(''), () => ''],
  avatar_url: [f.link('/avatars/acme'), avatarUrl],
  description: [f.text('Tools for everyone'), ({ description }) => description],
  website: [f.text(''), ({ website }) => website],
  location: [f.text(''), ({ location }) => location],
  visibility: [Visibility, ({ visibility }) => visibility],
  username: [f.text('acme'), ({ name }) => name],
  /** Number of owners, only in the list for administrators; 0 when the last owner was deleted. */
  owners_count: [v.optional(v.number()), ({ owners }) => owners],
})

export type Organization = v.InferOutput<typeof organizationView.schema>

const details = {
  description: v.optional(f.example(f.shortText, 'Tools for everyone')),
  website: v.optional(f.shortText),
  location: v.optional(f.locationText),
  visibility: f.GivenVisibility,
  ...f.acceptedBooleans('repo_admin_change_team_access'),
}

const CreateOrgOption = v.object({
  username: f.text('acme'),
  full_name: v.optional(f.fullNameText),
  ...details,
})

const EditOrgOption = v.object({
  full_name: v.optional(f.example(f.fullNameText, 'Acme')),
  email: v.optional(f.emailText),
  ...details,
})

const newOrganization = (body: v.InferOutput<typeof CreateOrgOption>): f.Complete<NewOrganization> => ({
  name: body.username,
  fullName: body.full_name,
  description: body.description,
  website: body.website,
  location: body.location,
  visibility: f.visibilityIn(body.visibility),
})

const organizations = at('/orgs', { scope: 'organization' })
const ofUser = { tag: 'organization', scope: ['user', 'organization'] } as const

export const organizationRoutes = [
  organizations.post('orgCreate', '', {
    summary: 'Create an organization that the signed-in user owns',
    body: CreateOrgOption,
    of: organizationView,
    run: ({ user, body }, { hosting }) => hosting.organizations.create(user.id, newOrganization(body), user),
  }),
  at('/admin/users/{username}/orgs', { scope: 'admin', reads: 'admin' }).post('adminCreateOrg', '', {
    summary: 'Create an organization that a user owns',
    body: CreateOrgOption,
    of: organizationView,
    run: async ({ user, params, body }, { hosting }) => {
      const owner = await hosting.accounts.find(user, params.username)
      if (owner?.kind !== 'user') return undefined
      return hosting.organizations.create(owner.id, newOrganization(body), user)
    },
  }),
  at('/admin/orgs', { scope: 'admin', reads: 'admin' }).list('adminGetAllOrgs', '', {
    summary: 'All organizations, each with the number of its owners',
    of: organizationView,
    run: async ({ page }, { hosting }) => {
      const { items, total } = await hosting.organizations.list(page)
      return { items: items.map(({ organization, owners }) => ({ ...organization, owners })), total }
    },
  }),
  organizations.get('orgGet', '/{org}', {
    summary: 'An organization',
    cached: true,
    of: organizationView,
    run: ({ user, params }, _services, tx) => visibleOrganization(tx, user, params.org),
  }),
  organizations.delete('orgDelete', '/{org}', {
    summary: 'Delete an organization; with `purge=true` also what the organization owns',
    query: v.object({
      purge: f.optionalQuery(v.boolean(), 'Whether to delete what the organization owns, too.'),
    }),
    also: [422],
    run: ({ user, params, query }, { hosting }) => {
      const purge = query.purge === true
      if (purge) requireScopes(user, { scope: ['write:repository', 'write:package'] })
      return hosting.organizations.remove(authorizeOrganization(user, params.org), { purge, by: user })
    },
  }),
  at('/user/orgs', { ...ofUser, reads: 'required' }).list('orgListCurrentUserOrgs', '', {
    summary: 'The organizations that the signed-in user belongs to',
    of: organizationView,
    run: ({ user, page }, { hosting }) => hosting.organizations.of(user, user.id, page),
  }),
  at('/users/{username}/orgs', ofUser).list('orgListUserOrgs', '', {
    summary: 'The organizations that a user belongs to and the viewer can know of',
    of: organizationView,
    run: async ({ user, params, page }, { hosting }) => {
      const member = await hosting.accounts.find(user, params.username)
      if (member?.kind !== 'user') return undefined
      return hosting.organizations.of(user, member.id, page)
    },
  }),
  organizations.patch('orgEdit', '/{org}', {
    summary: 'Change the profile of an organization',
    body: EditOrgOption,
    of: organizationView,
    run: ({ user, params, body, client }, { hosting }) => {
      const { full_name: fullName, visibility, email, description, website, location } = body
      return hosting.accounts.edit(
        authorizeOrganization(user, params.org),
        { fullName, email, description, website, location, visibility: f.visibilityIn(visibility) },
        { client: client(), by: user },
      )
    },
  }),
  organizations.get('orgIsMember', '/{org}/members/{username}', {
    summary:
      'Whether a user is a member of an organization: 204 when so; 404 otherwise, and for viewers who are neither members nor administrators',
    reads: 'required',
    run: ({ user, params }, { hosting }) =>
      hosting.organizations.hasMember(user, params.org, params.username),
  }),
  organizations.put('orgAddMember', '/{org}/members/{username}', {
    summary: 'Add a user to an organization, or with `role: owner` make them one of its owners',
    body: v.object({ role: v.optional(f.example(v.picklist(['member', 'owner']), 'member')) }),
    also: [409],
    run: async ({ user, params: { org, username }, body: { role } }, { hosting }) => {
      await hosting.organizations.setMember(authorizeOrganization(user, org), visibleUser(user, username), {
        viewer: user,
        ...(role === undefined ? {} : { owner: role === 'owner' }),
      })
      return true
    },
  }),
  organizations.delete('orgDeleteMember', '/{org}/members/{username}', {
    summary: 'Take a user out of an organization',
    also: [409],
    run: ({ user, params: { org, username } }, { hosting }) => {
      const organization = authorizeRemoveMember(user, org, username)
      return hosting.organizations.removeMember(organization, anyAccount(username), { viewer: user })
    },
  }),
]
