import * as v from 'valibot'
import { anyAccount, authorizeMembersOf, authorizeRemoveMember, visibleUser } from '../accounts/authorize.ts'
import type { NewOrganization } from '../accounts/organizations.ts'
import type { Page } from '../accounts/visible-page.ts'
import { checkScopes, Empty, ErrorBody, Forbidden, NotFound, ValidationError } from '../http/index.ts'
import type { Account } from '../records/schema/index.ts'
import { acceptedBooleans, GivenVisibility, visibilityIn } from './fields.ts'
import { Organization, organizationResource } from './organization-schema.ts'
import { accountNamed, organizationNamed } from './resolve-account.ts'
import { pageOf, reply, route } from './route.ts'

const CreateOrgOption = v.object({
  username: v.string(),
  full_name: v.optional(v.pipe(v.string(), v.maxLength(100))),
  description: v.optional(v.pipe(v.string(), v.maxLength(255))),
  website: v.optional(v.pipe(v.string(), v.maxLength(255))),
  location: v.optional(v.pipe(v.string(), v.maxLength(50))),
  visibility: v.optional(GivenVisibility),
  ...acceptedBooleans('repo_admin_change_team_access'),
})

const newOrganization = (body: v.InferOutput<typeof CreateOrgOption>): NewOrganization => ({
  name: body.username,
  fullName: body.full_name,
  description: body.description,
  website: body.website,
  location: body.location,
  visibility: visibilityIn(body.visibility),
})

const organizationPage = (baseUrl: string, { items, total }: Page<Account>) =>
  pageOf(
    items.map((organization) => organizationResource(organization, baseUrl)),
    total,
  )

export const organizationRoutes = [
  route({
    method: 'POST',
    path: '/orgs',
    operationId: 'orgCreate',
    tag: 'organization',
    summary: 'Create an organization that the signed-in user owns',
    auth: 'required',
    scope: 'write:organization',
    body: CreateOrgOption,
    responses: { 201: Organization, 403: Forbidden, 422: ValidationError },
    handle: async ({ user, body, baseUrl }, { hosting }) =>
      reply(
        201,
        organizationResource(await hosting.organizations.create(user.id, newOrganization(body)), baseUrl),
      ),
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
    handle: async ({ user, params, body, baseUrl }, services) => {
      const owner = await accountNamed(services, user, params.username)
      if (owner?.kind !== 'user') return reply(404)
      const organization = await services.hosting.organizations.create(owner.id, newOrganization(body))
      return reply(201, organizationResource(organization, baseUrl))
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
    paging: 'lenient',
    responses: { 200: v.array(Organization), 403: Forbidden },
    handle: async ({ page, baseUrl }, { hosting }) => {
      const { items, total } = await hosting.organizations.list(page)
      return pageOf(
        items.map(({ organization, owners }) => organizationResource(organization, baseUrl, owners)),
        total,
      )
    },
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
    handle: async ({ user, params, baseUrl }, services) => {
      const organization = await organizationNamed(services, user, params.org)
      return organization === undefined ? reply(404) : reply(200, organizationResource(organization, baseUrl))
    },
  }),
  route({
    method: 'DELETE',
    path: '/orgs/{org}',
    operationId: 'orgDelete',
    tag: 'organization',
    summary: 'Delete an organization; with `purge=true` also what the organization owns',
    auth: 'required',
    scope: 'write:organization',
    query: v.object({ purge: v.optional(v.boolean()) }),
    responses: { 204: Empty, 403: Forbidden, 404: NotFound, 422: ValidationError },
    handle: async ({ user, params, query }, { hosting }) => {
      const purge = query.purge === true
      if (purge) checkScopes(user, { scope: ['write:repository', 'write:package'] })
      const removed = await hosting.organizations.remove(authorizeMembersOf(user, params.org), { purge })
      return removed ? reply(204) : reply(404)
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
    paging: 'lenient',
    responses: { 200: v.array(Organization) },
    handle: async ({ user, page, baseUrl }, { hosting }) =>
      organizationPage(baseUrl, await hosting.organizations.of(user, user.id, page)),
  }),
  route({
    method: 'GET',
    path: '/orgs/{org}/members/{username}',
    operationId: 'orgIsMember',
    tag: 'organization',
    summary:
      'Whether a user is a member of an organization: 204 when so, 404 otherwise and to whoever is no member',
    auth: 'required',
    scope: 'read:organization',
    responses: { 204: Empty, 404: NotFound },
    handle: async ({ user, params }, { hosting }) =>
      (await hosting.organizations.hasMember(user, params.org, params.username)) ? reply(204) : reply(404),
  }),
  route({
    method: 'PUT',
    path: '/orgs/{org}/members/{username}',
    operationId: 'orgAddMember',
    tag: 'organization',
    summary: 'Add a user to an organization, or with `role: owner` make them one of its owners',
    auth: 'required',
    scope: 'write:organization',
    body: v.object({ role: v.optional(v.picklist(['member', 'owner'])) }),
    responses: { 204: Empty, 403: Forbidden, 404: NotFound, 409: ErrorBody, 422: ValidationError },
    handle: async ({ user, params, body }, { hosting }) => {
      const options = { by: user, ...(body.role === undefined ? {} : { owner: body.role === 'owner' }) }
      const [organization, member] = [
        authorizeMembersOf(user, params.org),
        visibleUser(user, params.username),
      ]
      await hosting.organizations.setMember(organization, member, options)
      return reply(204)
    },
  }),
  route({
    method: 'DELETE',
    path: '/orgs/{org}/members/{username}',
    operationId: 'orgDeleteMember',
    tag: 'organization',
    summary: 'Take a user out of an organization',
    auth: 'required',
    scope: 'write:organization',
    responses: { 204: Empty, 403: Forbidden, 404: NotFound, 409: ErrorBody },
    handle: async ({ user, params: { org, username } }, { hosting }) =>
      (await hosting.organizations.removeMember(
        authorizeRemoveMember(user, org, username),
        anyAccount(username),
        {
          by: user,
        },
      ))
        ? reply(204)
        : reply(404),
  }),
]
