/** Webhooks of repositories, organizations, users and the instance: the same routes below four paths. */
import { OPERATOR } from '../../accounts/access.ts'
import { commitWithRef } from '../../repositories/contents/open-repository.ts'
import { hookPlaces } from '../../webhooks/places.ts'
import {
  deliveryRoutesOf,
  type HookGroup,
  type HookParams,
  type HookRoute,
  hookRoutesOf,
  testRouteOf,
} from './hook-routes.ts'

const routesOf = (group: HookGroup): HookRoute[] => [
  ...hookRoutesOf(group),
  testRouteOf(group),
  ...deliveryRoutesOf(group),
]

const textOf = (params: HookParams, name: string): string => params[name] as string

const repositoryHooks: HookGroup = {
  path: '/repos/{owner}/{repo}/hooks',
  prefix: 'repo',
  ownerText: 'a repository',
  reads: 'required',
  scope: 'repository',
  place: (user, params) => hookPlaces.repository(user, textOf(params, 'owner'), textOf(params, 'repo')),
  async testPush({ hosting }, params, ref, client) {
    const [owner, name] = [textOf(params, 'owner'), textOf(params, 'repo')]
    const repository = await hosting.repositories.find(OPERATOR, owner, name)
    if (repository === undefined || hosting.contents === undefined) return undefined
    return commitWithRef(hosting.contents.of(repository, client), ref)
  },
}

const groups: HookGroup[] = [
  repositoryHooks,
  {
    path: '/orgs/{org}/hooks',
    prefix: 'org',
    ownerText: 'an organization',
    reads: 'required',
    scope: 'organization',
    place: (user, params) => hookPlaces.organization(user, textOf(params, 'org')),
  },
  {
    path: '/user/hooks',
    prefix: 'user',
    ownerText: 'the signed-in user',
    reads: 'required',
    scope: 'user',
    place: (user) => hookPlaces.user(user),
  },
  {
    path: '/admin/hooks',
    prefix: 'admin',
    ownerText: 'the instance',
    reads: 'admin',
    scope: 'admin',
    place: () => hookPlaces.instance(),
  },
]

export const hookRoutes: HookRoute[] = groups.flatMap(routesOf)
