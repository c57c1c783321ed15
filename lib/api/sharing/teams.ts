/** Teams of organizations and their members. */
import * as v from 'valibot'
import { Empty, ErrorBody, Forbidden, NotFound, ValidationError } from '../../http/index.ts'
import { parameter, shortText, teamId } from '../fields.ts'
import { reply, replyEmpty, replyFound, replyPage, route } from '../route.ts'
import { presentUser, replyUsers, User } from '../users.ts'
import { CreateTeamOption, EditTeamOption, newTeamIn, presentTeam, Team, teamEditIn } from './team-format.ts'

const read = { auth: 'required', scope: 'read:organization', tag: 'organization' } as const
const write = { auth: 'required', scope: 'write:organization', tag: 'organization' } as const
const params = v.object({ id: teamId })
const memberParams = v.object({ id: teamId, username: v.string() })

export const teamRoutes = [
  route({
    ...read,
    method: 'GET',
    path: '/orgs/{org}/teams',
    operationId: 'orgListTeams',
    summary: 'The teams of an organization, for its members: the owners first',
    paging: 'pages',
    responses: { 200: v.array(Team), 404: NotFound },
    handle: async (request, { hosting }) => {
      const found = await hosting.teams.list(request.user, request.params.org, request.page)
      return found === undefined ? reply(404) : replyPage(found, (team) => presentTeam(team, request))
    },
  }),
  route({
    ...read,
    method: 'GET',
    path: '/orgs/{org}/teams/search',
    operationId: 'teamSearch',
    summary: 'The teams of an organization by a part of the name or the description',
    query: v.object({
      q: v.optional(parameter(shortText, 'Part of the name or of the description.')),
      include_desc: v.optional(parameter(v.boolean(), 'Accepted: descriptions are always searched.')),
    }),
    paging: 'pages',
    responses: { 200: v.object({ ok: v.boolean(), data: v.array(Team) }), 404: NotFound },
    handle: async (request, { hosting }) => {
      const { user, params, page, query } = request
      const found = await hosting.teams.list(user, params.org, page, query.q ?? '')
      if (found === undefined) return reply(404)
      const list = replyPage(found, (team) => presentTeam(team, request))
      return { ...list, body: { ok: true, data: list.body } }
    },
  }),
  route({
    ...write,
    method: 'POST',
    path: '/orgs/{org}/teams',
    operationId: 'orgCreateTeam',
    summary: 'Create a team',
    body: CreateTeamOption,
    responses: { 201: Team, 403: Forbidden, 404: NotFound, 422: ValidationError },
    handle: async (request, { hosting }) => {
      const { user, params, body } = request
      const team = await hosting.teams.create(user, params.org, newTeamIn(body))
      return team === undefined ? reply(404) : reply(201, presentTeam(team, request))
    },
  }),
  route({
    method: 'GET',
    path: '/user/teams',
    operationId: 'userListTeams',
    tag: 'user',
    summary: 'The teams that the signed-in user is in',
    auth: 'required',
    scope: ['read:user', 'read:organization'],
    paging: 'pages',
    responses: { 200: v.array(Team) },
    handle: async (request, { hosting }) =>
      replyPage(await hosting.teams.of(request.user.id, request.page), (team) => presentTeam(team, request)),
  }),
  route({
    ...read,
    method: 'GET',
    path: '/teams/{id}',
    operationId: 'orgGetTeam',
    summary: 'A team, for members of its organization',
    params,
    responses: { 200: Team, 404: NotFound },
    handle: async (request, { hosting }) =>
      replyFound(await hosting.teams.find(request.user, request.params.id), (team) =>
        presentTeam(team, request),
      ),
  }),
  route({
    ...write,
    method: 'PATCH',
    path: '/teams/{id}',
    operationId: 'orgEditTeam',
    summary: 'Change a team',
    params,
    body: EditTeamOption,
    responses: { 200: Team, 403: Forbidden, 404: NotFound, 422: ValidationError },
    handle: async (request, { hosting }) => {
      const { user, params, body } = request
      const edited = await hosting.teams.edit(user, params.id, (before) => teamEditIn(body, before))
      return replyFound(edited, (team) => presentTeam(team, request))
    },
  }),
  route({
    ...write,
    method: 'DELETE',
    path: '/teams/{id}',
    operationId: 'orgDeleteTeam',
    summary: 'Delete a team; users who are in the organization by this team alone leave it',
    params,
    responses: { 204: Empty, 403: Forbidden, 404: NotFound, 422: ValidationError },
    handle: async ({ user, params }, { hosting }) => replyEmpty(await hosting.teams.remove(user, params.id)),
  }),
]

export const teamMemberRoutes = [
  route({
    ...read,
    method: 'GET',
    path: '/teams/{id}/members',
    operationId: 'orgListTeamMembers',
    summary: 'The members of a team',
    params,
    paging: 'pages',
    responses: { 200: v.array(User), 404: NotFound },
    handle: async (request, { hosting }) => {
      const found = await hosting.teams.members(request.user, request.params.id, request.page)
      return found === undefined ? reply(404) : replyUsers(request, found)
    },
  }),
  route({
    ...read,
    method: 'GET',
    path: '/teams/{id}/members/{username}',
    operationId: 'orgListTeamMember',
    summary: 'A member of a team',
    params: memberParams,
    responses: { 200: User, 404: NotFound },
    handle: async (request, { hosting }) => {
      const { user, params } = request
      return replyFound(await hosting.teams.member(user, params.id, params.username), (member) =>
        presentUser(member, request),
      )
    },
  }),
  route({
    ...write,
    method: 'PUT',
    path: '/teams/{id}/members/{username}',
    operationId: 'orgAddTeamMember',
    summary: 'Add a user to a team, and to its organization with the rights of its teams alone',
    params: memberParams,
    responses: { 204: Empty, 403: Forbidden, 404: NotFound, 409: ErrorBody },
    handle: async ({ user, params }, { hosting }) =>
      replyEmpty(await hosting.teams.addMember(user, params.id, params.username)),
  }),
  route({
    ...write,
    method: 'DELETE',
    path: '/teams/{id}/members/{username}',
    operationId: 'orgRemoveTeamMember',
    summary: 'Take a user out of a team; a user who is in the organization by this team alone leaves it',
    params: memberParams,
    responses: { 204: Empty, 403: Forbidden, 404: NotFound, 409: ErrorBody },
    handle: async ({ user, params }, { hosting }) =>
      replyEmpty(await hosting.teams.removeMember(user, params.id, params.username)),
  }),
]
