/** Which repositories teams have rights on, by the team and by the repository. */
import * as v from 'valibot'
import { Empty, ErrorBody, Forbidden, NotFound, ValidationError } from '../../http/index.ts'
import { repositoryNameOf, teamId } from '../fields.ts'
import { Repository, replyRepositories, replyRepository } from '../repository-presenter.ts'
import { reply, replyEmpty, replyFound, route } from '../route.ts'
import { presentTeam, Team } from './team-format.ts'

const read = { auth: 'required', scope: ['read:organization', 'read:repository'] } as const
const write = { auth: 'required', scope: ['write:organization', 'write:repository'] } as const
const params = v.object({ id: teamId, org: v.string(), repo: v.string() })

const nameIn = ({ org, repo }: { org: string; repo: string }) => ({ owner: org, name: repo })

export const teamRepositoryRoutes = [
  route({
    ...read,
    method: 'GET',
    path: '/teams/{id}/repos',
    operationId: 'orgListTeamRepos',
    tag: 'organization',
    summary: 'The repositories of a team',
    params: v.object({ id: teamId }),
    paging: 'pages',
    responses: { 200: v.array(Repository), 404: NotFound },
    handle: async (request, services) => {
      const { user, params, page } = request
      const found = await services.hosting.teamRepositories.list(user, params.id, page)
      return found === undefined ? reply(404) : replyRepositories(services, request, found)
    },
  }),
  route({
    ...read,
    method: 'GET',
    path: '/teams/{id}/repos/{org}/{repo}',
    operationId: 'orgListTeamRepo',
    tag: 'organization',
    summary: 'A repository of a team',
    params,
    responses: { 200: Repository, 404: NotFound },
    handle: async (request, services) => {
      const { user, params } = request
      const found = await services.hosting.teamRepositories.find(user, params.id, nameIn(params))
      return replyRepository(services, request, 200, found)
    },
  }),
  route({
    ...write,
    method: 'PUT',
    path: '/teams/{id}/repos/{org}/{repo}',
    operationId: 'orgAddTeamRepository',
    tag: 'organization',
    summary: 'Give a team its rights on a repository',
    params,
    responses: { 204: Empty, 403: Forbidden, 404: NotFound, 409: ErrorBody },
    handle: async ({ user, params }, { hosting }) =>
      replyEmpty(await hosting.teamRepositories.add(user, params.id, nameIn(params))),
  }),
  route({
    ...write,
    method: 'DELETE',
    path: '/teams/{id}/repos/{org}/{repo}',
    operationId: 'orgRemoveTeamRepository',
    tag: 'organization',
    summary: 'Take its rights on a repository from a team',
    params,
    responses: { 204: Empty, 403: Forbidden, 404: NotFound, 422: ValidationError },
    handle: async ({ user, params }, { hosting }) =>
      replyEmpty(await hosting.teamRepositories.remove(user, params.id, nameIn(params))),
  }),
]

export const repositoryTeamRoutes = [
  route({
    ...read,
    method: 'GET',
    path: '/repos/{owner}/{repo}/teams',
    operationId: 'repoListTeams',
    tag: 'repository',
    summary: 'The teams that have rights on a repository, for those who administer it',
    responses: { 200: v.array(Team), 403: Forbidden, 404: NotFound },
    handle: async (request, { hosting }) => {
      const found = await hosting.teamRepositories.teamsOf(request.user, repositoryNameOf(request.params))
      return replyFound(found, (teams) => teams.map((team) => presentTeam(team, request)))
    },
  }),
  route({
    ...read,
    method: 'GET',
    path: '/repos/{owner}/{repo}/teams/{team}',
    operationId: 'repoCheckTeam',
    tag: 'repository',
    summary: 'A team that has rights on a repository',
    responses: { 200: Team, 403: Forbidden, 404: NotFound },
    handle: async (request, { hosting }) => {
      const { user, params } = request
      const found = await hosting.teamRepositories.findTeam(user, repositoryNameOf(params), params.team)
      return replyFound(found, (team) => presentTeam(team, request))
    },
  }),
  route({
    ...write,
    method: 'PUT',
    path: '/repos/{owner}/{repo}/teams/{team}',
    operationId: 'repoAddTeam',
    tag: 'repository',
    summary: 'Give a team of the organization its rights on the repository',
    responses: { 204: Empty, 403: Forbidden, 404: NotFound, 409: ErrorBody },
    handle: async ({ user, params }, { hosting }) =>
      replyEmpty(await hosting.teamRepositories.setTeam(user, repositoryNameOf(params), params.team, true)),
  }),
  route({
    ...write,
    method: 'DELETE',
    path: '/repos/{owner}/{repo}/teams/{team}',
    operationId: 'repoDeleteTeam',
    tag: 'repository',
    summary: 'Take its rights on the repository from a team',
    responses: { 204: Empty, 403: Forbidden, 404: NotFound, 422: ValidationError },
    handle: async ({ user, params }, { hosting }) =>
      replyEmpty(await hosting.teamRepositories.setTeam(user, repositoryNameOf(params), params.team, false)),
  }),
]
