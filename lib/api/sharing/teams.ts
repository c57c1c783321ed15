/** Teams of organizations and their members. */
import * as v from 'valibot'
import { optionalQuery, shortText, teamId } from '../fields.ts'
import { at } from '../route.ts'
import { userView } from '../users.ts'
import { searchResults } from '../view.ts'
import { CreateTeamOption, EditTeamOption, newTeamIn, teamEditIn, teamView } from './team-format.ts'

const ofOrganization = at('/orgs/{org}/teams', { scope: 'organization', reads: 'required' })
const teams = at('/teams/{id}', { scope: 'organization', reads: 'required', ids: { id: teamId } })

export const teamRoutes = [
  ofOrganization.list('orgListTeams', '', {
    summary: 'The teams of an organization, for its members: the owners first',
    of: teamView,
    run: ({ user, params, page }, { hosting }) => hosting.teams.list(user, params.org, page),
  }),
  ofOrganization.list('teamSearch', '/search', {
    summary: 'The teams of an organization by a part of the name or the description',
    query: v.object({
      q: optionalQuery(shortText, 'Part of the name or of the description.'),
      include_desc: optionalQuery(v.boolean(), 'Accepted: descriptions are always searched.'),
    }),
    of: teamView,
    wrap: searchResults,
    run: ({ user, params, page, query }, { hosting }) =>
      hosting.teams.list(user, params.org, page, query.q ?? ''),
  }),
  ofOrganization.post('orgCreateTeam', '', {
    summary: 'Create a team',
    body: CreateTeamOption,
    of: teamView,
    run: ({ user, params, body }, { hosting }) => hosting.teams.create(user, params.org, newTeamIn(body)),
  }),
  at('/user/teams', { scope: ['user', 'organization'], reads: 'required' }).list('userListTeams', '', {
    summary: 'The teams that the signed-in user is in',
    of: teamView,
    run: ({ user, page }, { hosting }) => hosting.teams.of(user.id, page),
  }),
  teams.get('orgGetTeam', '', {
    summary: 'A team, for members of its organization',
    of: teamView,
    run: ({ user, params }, { hosting }) => hosting.teams.find(user, params.id),
  }),
  teams.patch('orgEditTeam', '', {
    summary: 'Change a team',
    body: EditTeamOption,
    of: teamView,
    run: ({ user, params, body }, { hosting }) =>
      hosting.teams.edit(user, params.id, (before) => teamEditIn(body, before)),
  }),
  teams.delete('orgDeleteTeam', '', {
    summary: 'Delete a team; users who are in the organization by this team alone leave it',
    also: [422],
    run: ({ user, params }, { hosting }) => hosting.teams.remove(user, params.id),
  }),
]

export const teamMemberRoutes = [
  teams.list('orgListTeamMembers', '/members', {
    summary: 'The members of a team',
    of: userView,
    run: ({ user, params, page }, { hosting }) => hosting.teams.members(user, params.id, page),
  }),
  teams.get('orgListTeamMember', '/members/{username}', {
    summary: 'A member of a team',
    of: userView,
    run: ({ user, params }, { hosting }) => hosting.teams.member(user, params.id, params.username),
  }),
  teams.put('orgAddTeamMember', '/members/{username}', {
    summary: 'Add a user to a team, and to its organization with the rights of its teams alone',
    also: [409],
    run: ({ user, params }, { hosting }) => hosting.teams.addMember(user, params.id, params.username),
  }),
  teams.delete('orgRemoveTeamMember', '/members/{username}', {
    summary: 'Take a user out of a team; a user who is in the organization by this team alone leaves it',
    also: [409],
    run: ({ user, params }, { hosting }) => hosting.teams.removeMember(user, params.id, params.username),
  }),
]
