/** Invitations of users to organizations. */
import * as v from 'valibot'
import { Empty, ErrorBody, Forbidden, NotFound, ValidationError } from '../../http/index.ts'
import type { Account, Invitation as InvitationRecord } from '../../records/schema/index.ts'
import { example, Time, text, timestamp } from '../fields.ts'
import { Organization, presentOrganization } from '../organizations.ts'
import { type Recipient, reply, replyEmpty, replyPage, route } from '../route.ts'
import { presentUser, User } from '../users.ts'

const Role = example(v.picklist(['member', 'owner']), 'member')

const Invitation = v.object({ organization: Organization, user: User, role: Role, created_at: Time })

const present = (
  { invitation, organization, user }: { invitation: InvitationRecord; organization: Account; user: Account },
  recipient: Recipient,
): v.InferOutput<typeof Invitation> => ({
  organization: presentOrganization(organization, recipient),
  user: presentUser(user, recipient),
  role: invitation.owner ? 'owner' : 'member',
  created_at: timestamp(invitation.createdAt),
})

const read = { auth: 'required', scope: 'read:organization', tag: 'organization' } as const
const write = { auth: 'required', scope: 'write:organization', tag: 'organization' } as const
const readOwn = { auth: 'required', scope: ['read:user', 'read:organization'], tag: 'organization' } as const
const writeOwn = {
  auth: 'required',
  scope: ['write:user', 'write:organization'],
  tag: 'organization',
} as const

export const invitationRoutes = [
  route({
    ...read,
    method: 'GET',
    path: '/orgs/{org}/invitations',
    operationId: 'orgListInvitations',
    summary: 'The users who are invited to an organization, for its owners',
    paging: 'pages',
    responses: { 200: v.array(Invitation), 403: Forbidden, 404: NotFound },
    handle: async (request, { hosting }) => {
      const found = await hosting.invitations.list(request.user, request.params.org, request.page)
      return found === undefined ? reply(404) : replyPage(found, (invitation) => present(invitation, request))
    },
  }),
  route({
    ...write,
    method: 'POST',
    path: '/orgs/{org}/invitations',
    operationId: 'orgInvite',
    summary: 'Invite a user, who becomes a member or an owner by accepting',
    body: v.object({
      username: v.pipe(text('bob'), v.minLength(1), v.maxLength(255)),
      role: v.optional(Role),
    }),
    responses: {
      201: Invitation,
      403: Forbidden,
      404: NotFound,
      409: ErrorBody,
      422: ValidationError,
    },
    handle: async (request, { hosting }) => {
      const { user, params, body } = request
      const isOwner = body.role === 'owner'
      const invited = await hosting.invitations.invite(user, params.org, body.username, isOwner)
      return invited === undefined ? reply(404) : reply(201, present(invited, request))
    },
  }),
  route({
    ...write,
    method: 'DELETE',
    path: '/orgs/{org}/invitations/{username}',
    operationId: 'orgWithdrawInvitation',
    summary: 'Take an invitation back',
    responses: { 204: Empty, 403: Forbidden, 404: NotFound },
    handle: async ({ user, params }, { hosting }) =>
      replyEmpty(await hosting.invitations.withdraw(user, params.org, params.username)),
  }),
  route({
    ...readOwn,
    method: 'GET',
    path: '/user/invitations',
    operationId: 'userListInvitations',
    summary: 'The organizations that the signed-in user is invited to',
    paging: 'pages',
    responses: { 200: v.array(Invitation) },
    handle: async (request, { hosting }) =>
      replyPage(await hosting.invitations.of(request.user, request.page), (invitation) =>
        present(invitation, request),
      ),
  }),
  route({
    ...writeOwn,
    method: 'PUT',
    path: '/user/invitations/{org}',
    operationId: 'userAcceptInvitation',
    summary: 'Accept the invitation of an organization',
    responses: { 204: Empty, 404: NotFound },
    handle: async ({ user, params }, { hosting }) =>
      replyEmpty(await hosting.invitations.accept(user, params.org)),
  }),
  route({
    ...writeOwn,
    method: 'DELETE',
    path: '/user/invitations/{org}',
    operationId: 'userDeclineInvitation',
    summary: 'Decline the invitation of an organization',
    responses: { 204: Empty, 404: NotFound },
    handle: async ({ user, params }, { hosting }) =>
      replyEmpty(await hosting.invitations.decline(user, params.org)),
  }),
]
