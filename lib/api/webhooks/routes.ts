/** Webhooks of repositories, organizations, users and the instance: the same routes below four paths. */
import * as v from 'valibot'
import { OPERATOR } from '../../accounts/access.ts'
import { commitWithRef } from '../../repositories/contents/open-repository.ts'
import { hookPlaces } from '../../webhooks/places.ts'
import {
  deliveryRoutesOf,
  type HookGroup,
  type HookParams,
  type HookRoute,
  hookRoutesOf,
  listRoutesOf,
  testRouteOf,
} from './hook-routes.ts'

const routesOf = (group: HookGroup): HookRoute[] => [
  ...listRoutesOf(group),
  ...hookRoutesOf(group),
  testRouteOf(group),
  ...deliveryRoutesOf(group),
]

const textOf = (params: HookParams, name: string): string => params[name] as string

const repositoryHooks: HookGroup = {
  path: '/repos/{owner}/{repo}/hooks',
  names: { owner: v.string(), repo: v.string() },
  prefix: 'repo',
  ownerText: 'a repository',
  auth: 'required',
  scope: 'repository',
  canForbid: true,
  alwaysExists: false,
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
    names: { org: v.string() },
    prefix: 'org',
    ownerText: 'an organization',
    auth: 'required',
    scope: 'organization',
    canForbid: true,
    alwaysExists: false,
    place: (user, params) => hookPlaces.organization(user, textOf(params, 'org')),
  },
  {
    path: '/user/hooks',
    names: {},
    prefix: 'user',
    ownerText: 'the signed-in user',
    auth: 'required',
    scope: 'user',
    canForbid: false,
    alwaysExists: true,
    place: (user) => hookPlaces.user(user),
  },
  {
    path: '/admin/hooks',
    names: {},
    prefix: 'admin',
    ownerText: 'the instance',
    auth: 'admin',
    scope: 'admin',
    canForbid: true,
    alwaysExists: true,
    place: () => hookPlaces.instance(),
  },
]

export const hookRoutes: HookRoute[] = groups.flatMap(routesOf)
