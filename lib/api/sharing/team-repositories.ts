/** Which repositories teams have rights on, by the team and by the repository. */
import { teamId } from '../fields.ts'
import { repositoryView } from '../repository-presenter.ts'
import { at } from '../route.ts'
import { every } from '../view.ts'
import { teamView } from './team-format.ts'

const scope = ['organization', 'repository'] as const
const ofTeam = at('/teams/{id}/repos', { tag: 'organization', scope, reads: 'required', ids: { id: teamId } })
const ofRepository = at('/repos/{owner}/{repo}/teams', { tag: 'repository', scope, reads: 'required' })

const nameIn = ({ org, repo }: { org: string; repo: string }) => ({ owner: org, name: repo })

export const teamRepositoryRoutes = [
  ofTeam.list('orgListTeamRepos', '', {
    summary: 'The repositories of a team',
    of: repositoryView,
    run: ({ user, params, page }, { hosting }) => hosting.teamRepositories.list(user, params.id, page),
  }),
  ofTeam.get('orgListTeamRepo', '/{org}/{repo}', {
    summary: 'A repository of a team',
    of: repositoryView,
    run: ({ user, params }, { hosting }) => hosting.teamRepositories.find(user, params.id, nameIn(params)),
  }),
  ofTeam.put('orgAddTeamRepository', '/{org}/{repo}', {
    summary: 'Give a team its rights on a repository',
    also: [409],
    run: ({ user, params }, { hosting }) =>
      hosting.teamRepositories.set(user, params.id, nameIn(params), true),
  }),
  ofTeam.delete('orgRemoveTeamRepository', '/{org}/{repo}', {
    summary: 'Take its rights on a repository from a team',
    also: [422],
    run: ({ user, params }, { hosting }) =>
      hosting.teamRepositories.set(user, params.id, nameIn(params), false),
  }),
]

export const repositoryTeamRoutes = [
  ofRepository.get('repoListTeams', '', {
    summary: 'The teams that have rights on a repository, for those who administer it',
    of: every(teamView),
    run: ({ user, repository }, { hosting }) => hosting.teamRepositories.teamsOf(user, repository),
  }),
  ofRepository.get('repoCheckTeam', '/{team}', {
    summary: 'A team that has rights on a repository',
    of: teamView,
    run: ({ user, repository, params }, { hosting }) =>
      hosting.teamRepositories.findTeam(user, repository, params.team),
  }),
  ofRepository.put('repoAddTeam', '/{team}', {
    summary: 'Give a team of the organization its rights on the repository',
    also: [409],
    run: ({ user, repository, params }, { hosting }) =>
      hosting.teamRepositories.setTeam(user, repository, params.team, true),
  }),
  ofRepository.delete('repoDeleteTeam', '/{team}', {
    summary: 'Take its rights on the repository from a team',
    also: [422],
    run: ({ user, repository, params }, { hosting }) =>
      hosting.teamRepositories.setTeam(user, repository, params.team, false),
  }),
]
