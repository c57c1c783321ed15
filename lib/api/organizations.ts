import * as v from 'valibot'
import {
  anyAccount,
  authorizeOrganization,
  authorizeRemoveMember,
  visibleUser,
} from '../accounts/authorize.ts'
import { visibleOrganization } from '../accounts/find.ts'
import type { NewOrganization } from '../accounts/organizations.ts'
import { Empty, ErrorBody, Forbidden, NotFound, requireScopes, ValidationError } from '../http/index.ts'
import { type Account, Visibility } from '../records/schema/index.ts'
import {
  acceptedBooleans,
  type Complete,
  emailText,
  example,
  fullNameText,
  GivenVisibility,
  locationText,
  number,
  parameter,
  shortText,
  text,
  visibilityIn,
} from './fields.ts'
import { type Recipient, reply, replyEmpty, replyFound, replyPage, route } from './route.ts'
import { avatarUrl } from './users.ts'

export const Organization = v.object({
  id: number(3),
  name: text('acme'),
  full_name: text('Acme'),
  /** Always empty: an organization has none. */
  email: text(''),
  avatar_url: text('https://code.example.org/avatars/acme'),
  description: text('Tools for everyone'),
  website: text(''),
  location: text(''),
  visibility: Visibility,
  username: text('acme'),
  /** Number of owners, only in the list for administrators; 0 when the last owner was deleted. */
  owners_count: v.optional(v.number()),
})
export type Organization = v.InferOutput<typeof Organization>

export const presentOrganization = (
  account: Account,
  urls: Pick<Recipient, 'baseUrl' | 'htmlUrls'>,
): Organization => ({
  id: account.id,
  name: account.name,
  full_name: account.fullName,
  email: '',
  avatar_url: avatarUrl(account, urls),
  description: account.description,
  website: account.website,
  location: account.location,
  visibility: account.visibility,
  username: account.name,
})

const details = {
  description: v.optional(example(shortText, 'Tools for everyone')),
  website: v.optional(shortText),
  location: v.optional(locationText),
  visibility: GivenVisibility,
  ...acceptedBooleans('repo_admin_change_team_access'),
}

const CreateOrgOption = v.object({
  username: text('acme'),
  full_name: v.optional(fullNameText),
  ...details,
})

const EditOrgOption = v.object({
  full_name: v.optional(example(fullNameText, 'Acme')),
  email: v.optional(emailText),
  ...details,
})

const newOrganization = (body: v.InferOutput<typeof CreateOrgOption>): Complete<NewOrganization> => ({
  name: body.username,
  fullName: body.full_name,
  description: body.description,
  website: body.website,
  location: body.location,
  visibility: visibilityIn(body.visibility),
})

const read = { auth: 'required', scope: 'read:organization', tag: 'organization' } as const
const write = { auth: 'required', scope: 'write:organization', tag: 'organization' } as const

export const organizationRoutes = [
  route({
    ...write,
    method: 'POST',
    path: '/orgs',
    operationId: 'orgCreate',
    summary: 'Create an organization that the signed-in user owns',
    body: CreateOrgOption,
    responses: { 201: Organization, 403: Forbidden, 422: ValidationError },
    handle: async (request, { hosting }) => {
      const { user, body } = request
      const organization = await hosting.organizations.create(user.id, newOrganization(body), user)
      return reply(201, presentOrganization(organization, request))
    },
  }),
  route({
    method: 'POST',
    path: '/admin/users/{username}/orgs',
    operationId: 'adminCreateOrg',
    tag: 'admin',
    summary: 'Create an organization that a user owns',
    auth: 'admin',
    scope: 'write:admin',
    body: CreateOrgOption,
    responses: { 201: Organization, 403: Forbidden, 404: NotFound, 422: ValidationError },
    handle: async (request, { hosting }) => {
      const { user, params, body } = request
      const owner = await hosting.accounts.find(user, params.username)
      if (owner?.kind !== 'user') return reply(404)
      const organization = await hosting.organizations.create(owner.id, newOrganization(body), user)
      return reply(201, presentOrganization(organization, request))
    },
  }),
  route({
    method: 'GET',
    path: '/admin/orgs',
    operationId: 'adminGetAllOrgs',
    tag: 'admin',
    summary: 'All organizations, each with the number of its owners',
    auth: 'admin',
    scope: 'read:admin',
    paging: 'pages',
    responses: { 200: v.array(Organization), 403: Forbidden },
    handle: async (request, { hosting }) =>
      replyPage(await hosting.organizations.list(request.page), ({ organization, owners }) => ({
        ...presentOrganization(organization, request),
        owners_count: owners,
      })),
  }),
  route({
    method: 'GET',
    path: '/orgs/{org}',
    operationId: 'orgGet',
    tag: 'organization',
    summary: 'An organization',
    auth: 'optional',
    scope: 'read:organization',
    cacheable: true,
    responses: { 200: Organization, 404: NotFound },
    handle: (request) =>
      request.cached(async (tx) =>
        replyFound(await visibleOrganization(tx, request.user, request.params.org), (organization) =>
          presentOrganization(organization, request),
        ),
      ),
  }),
  route({
    ...write,
    method: 'DELETE',
    path: '/orgs/{org}',
    operationId: 'orgDelete',
    summary: 'Delete an organization; with `purge=true` also what the organization owns',
    query: v.object({
      purge: v.optional(parameter(v.boolean(), 'Whether to delete what the organization owns, too.')),
    }),
    responses: { 204: Empty, 403: Forbidden, 404: NotFound, 422: ValidationError },
    handle: async ({ user, params, query }, { hosting }) => {
      const purge = query.purge === true
      if (purge) requireScopes(user, { scope: ['write:repository', 'write:package'] })
      return replyEmpty(
        await hosting.organizations.remove(authorizeOrganization(user, params.org), { purge, by: user }),
      )
    },
  }),
  route({
    method: 'GET',
    path: '/user/orgs',
    operationId: 'orgListCurrentUserOrgs',
    tag: 'organization',
    summary: 'The organizations that the signed-in user belongs to',
    auth: 'required',
    scope: ['read:user', 'read:organization'],
    paging: 'pages',
    responses: { 200: v.array(Organization) },
    handle: async (request, { hosting }) => {
      const { user, page } = request
      const organizations = await hosting.organizations.of(user, user.id, page)
      return replyPage(organizations, (organization) => presentOrganization(organization, request))
    },
  }),
  route({
    method: 'GET',
    path: '/users/{username}/orgs',
    operationId: 'orgListUserOrgs',
    tag: 'organization',
    summary: 'The organizations that a user belongs to and the viewer can know of',
    auth: 'optional',
    scope: ['read:user', 'read:organization'],
    paging: 'pages',
    responses: { 200: v.array(Organization), 404: NotFound },
    handle: async (request, { hosting }) => {
      const { user, params, page } = request
      const member = await hosting.accounts.find(user, params.username)
      if (member?.kind !== 'user') return reply(404)
      const organizations = await hosting.organizations.of(user, member.id, page)
      return replyPage(organizations, (organization) => presentOrganization(organization, request))
    },
  }),
  route({
    ...write,
    method: 'PATCH',
    path: '/orgs/{org}',
    operationId: 'orgEdit',
    summary: 'Change the profile of an organization',
    body: EditOrgOption,
    responses: { 200: Organization, 403: Forbidden, 404: NotFound, 422: ValidationError },
    handle: async (request, { hosting }) => {
      const { full_name: fullName, visibility, email, description, website, location } = request.body
      const edited = await hosting.accounts.edit(
        authorizeOrganization(request.user, request.params.org),
        { fullName, email, description, website, location, visibility: visibilityIn(visibility) },
        { client: request.client(), by: request.user },
      )
      return edited === undefined ? reply(404) : reply(200, presentOrganization(edited, request))
    },
  }),
  route({
    ...read,
    method: 'GET',
    path: '/orgs/{org}/members/{username}',
    operationId: 'orgIsMember',
    summary:
      'Whether a user is a member of an organization: 204 when so; 404 otherwise, and for viewers who are neither members nor administrators',
    responses: { 204: Empty, 404: NotFound },
    handle: async ({ user, params }, { hosting }) =>
      replyEmpty(await hosting.organizations.hasMember(user, params.org, params.username)),
  }),
  route({
    ...write,
    method: 'PUT',
    path: '/orgs/{org}/members/{username}',
    operationId: 'orgAddMember',
    summary: 'Add a user to an organization, or with `role: owner` make them one of its owners',
    body: v.object({ role: v.optional(example(v.picklist(['member', 'owner']), 'member')) }),
    responses: { 204: Empty, 403: Forbidden, 404: NotFound, 409: ErrorBody, 422: ValidationError },
    handle: async ({ user, params: { org, username }, body: { role } }, { hosting }) => {
      await hosting.organizations.setMember(authorizeOrganization(user, org), visibleUser(user, username), {
        viewer: user,
        ...(role === undefined ? {} : { owner: role === 'owner' }),
      })
      return reply(204)
    },
  }),
  route({
    ...write,
    method: 'DELETE',
    path: '/orgs/{org}/members/{username}',
    operationId: 'orgDeleteMember',
    summary: 'Take a user out of an organization',
    responses: { 204: Empty, 403: Forbidden, 404: NotFound, 409: ErrorBody },
    handle: async ({ user, params: { org, username } }, { hosting }) => {
      const organization = authorizeRemoveMember(user, org, username)
      return replyEmpty(
        await hosting.organizations.removeMember(organization, anyAccount(username), { viewer: user }),
      )
    },
  }),
]
