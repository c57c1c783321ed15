/** Webhooks of repositories, organizations, users and the instance: the same routes below four paths. */
import * as v from 'valibot'
import { type Identity, OPERATOR } from '../../accounts/access.ts'
import type { Authorizer } from '../../accounts/authorize.ts'
import { existing } from '../../errors.ts'
import { NotFound, type Route } from '../../http/index.ts'
import { commitWithRef } from '../../repositories/contents/open-repository.ts'
import type { TestPush } from '../../webhooks/hooks.ts'
import { type HookPlace, hookPlaces } from '../../webhooks/places.ts'
import { optionalQuery, shortText } from '../fields.ts'
import { at, type Services } from '../route.ts'
import {
  CreateHookOption,
  deliveryDetailsView,
  deliveryId,
  deliveryView,
  EditHookOption,
  editIn,
  hookId,
  hookView,
  newHookIn,
} from './schema.ts'

/** The parameters of a path that name the place. */
type HookParams = { readonly [Name in 'owner' | 'repo' | 'org']?: string }
type HookRoute = Route<Identity, Services>

/** One of the paths that have webhooks, and how it differs from the others. */
interface HookGroup {
  readonly path: '/repos/{owner}/{repo}/hooks' | '/orgs/{org}/hooks' | '/user/hooks' | '/admin/hooks'
  /** Beginning of the operation ids. */
  readonly prefix: string
  /** Owner of the webhooks, in summaries. */
  readonly ownerText: string
  readonly reads: 'required' | 'admin'
  readonly scope: 'user' | 'organization' | 'repository' | 'admin'
  place(user: Identity, params: HookParams): Authorizer<HookPlace>
  /** The push that a webhook is tested with; undefined for a `ping`. */
  testPush?(
    services: Services,
    params: HookParams,
    ref: string,
    client: string,
  ): Promise<TestPush | undefined>
}

const resourceOf = ({ path, scope, reads }: HookGroup) =>
  at(path, { tag: 'webhook', scope, reads, ids: { id: hookId, delivery: deliveryId } })

/** Lists, creates, reads, changes and deletes webhooks. */
const hookRoutesOf = (group: HookGroup): HookRoute[] => {
  const { prefix, ownerText, place } = group
  const hooks = resourceOf(group)
  return [
    hooks.list(`${prefix}ListHooks`, '', {
      summary: `The webhooks of ${ownerText}`,
      of: hookView,
      also: { 404: NotFound },
      run: ({ user, params, page }, { hosting }) => hosting.hooks.list(place(user, params), page),
    }),
    hooks.post(`${prefix}CreateHook`, '', {
      summary: `Create a webhook of ${ownerText}`,
      body: CreateHookOption,
      of: hookView,
      also: [409],
      run: async ({ user, params, body, baseUrl }, { hosting }) => {
        return existing(
          await hosting.hooks.create(user, place(user, params), newHookIn(body, baseUrl)),
          'there is nothing at this path',
        )
      },
    }),
    hooks.get(`${prefix}GetHook`, '/{id}', {
      summary: `A webhook of ${ownerText}`,
      of: hookView,
      run: ({ user, params }, { hosting }) => hosting.hooks.find(place(user, params), params.id),
    }),
    hooks.patch(`${prefix}EditHook`, '/{id}', {
      summary: `Change a webhook of ${ownerText}; with another receiver, the Authorization header is removed unless it is given again`,
      body: EditHookOption,
      of: hookView,
      run: ({ user, params, body, baseUrl }, { hosting }) =>
        hosting.hooks.edit(user, place(user, params), params.id, { ...editIn(body), baseUrl }),
    }),
    hooks.delete(`${prefix}DeleteHook`, '/{id}', {
      summary: `Delete a webhook of ${ownerText}, with its deliveries`,
      run: ({ user, params }, { hosting }) => hosting.hooks.remove(user, place(user, params), params.id),
    }),
  ]
}

/** Lists, reads and repeats what was sent to a webhook. */
const deliveryRoutesOf = (group: HookGroup): HookRoute[] => {
  const { prefix, ownerText, place } = group
  const hooks = resourceOf(group)
  return [
    hooks.list(`${prefix}ListHookDeliveries`, '/{id}/deliveries', {
      summary: `The deliveries of a webhook of ${ownerText} in the last days, the newest first`,
      of: deliveryView,
      run: ({ user, params, page }, { hosting }) =>
        hosting.hooks.deliveries(place(user, params), params.id, page),
    }),
    hooks.get(`${prefix}GetHookDelivery`, '/{id}/deliveries/{delivery}', {
      summary: `A delivery of a webhook of ${ownerText}, with what was sent and the answer`,
      of: deliveryDetailsView,
      run: ({ user, params }, { hosting }) =>
        hosting.hooks.delivery(user, place(user, params), params.id, params.delivery),
    }),
    hooks.post(`${prefix}RedeliverHook`, '/{id}/deliveries/{delivery}/attempts', {
      summary: `Send a delivery of a webhook of ${ownerText} again`,
      of: deliveryView,
      status: 202,
      also: [409],
      run: ({ user, params }, { hosting }) =>
        hosting.hooks.resend(place(user, params), params.id, params.delivery),
    }),
  ]
}

const TestQuery = v.object({
  ref: optionalQuery(shortText, 'Branch, tag or commit of the push; the default branch when absent.'),
})

/** Sends a test to a webhook. */
const testRouteOf = (group: HookGroup): HookRoute => {
  const { prefix, ownerText, place, testPush } = group
  return resourceOf(group).post(`${prefix}TestHook`, '/{id}/tests', {
    summary: `Send a test to a webhook of ${ownerText}: ${testPush === undefined ? 'a ping' : 'a push of the last commit, or a ping when there is none'}`,
    ...(testPush === undefined ? {} : { query: TestQuery }),
    also: [409],
    run: async ({ user, params, query, client }, services) => {
      const { hooks } = services.hosting
      const where = place(user, params)
      // Before git data is read, since this finds out whether the caller may.
      if ((await hooks.find(where, params.id)) === undefined) return undefined
      const push = await testPush?.(services, params, query?.ref ?? '', client())
      return hooks.test(user, where, params.id, push)
    },
  })
}

const repositoryHooks: HookGroup = {
  path: '/repos/{owner}/{repo}/hooks',
  prefix: 'repo',
  ownerText: 'a repository',
  reads: 'required',
  scope: 'repository',
  place: (user, { owner = '', repo = '' }) => hookPlaces.repository(user, owner, repo),
  async testPush({ hosting }, { owner = '', repo = '' }, ref, client) {
    const repository = await hosting.repositories.find(OPERATOR, owner, repo)
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
    place: (user, { org = '' }) => hookPlaces.organization(user, org),
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

export const hookRoutes: HookRoute[] = groups.flatMap((group) => [
  ...hookRoutesOf(group),
  testRouteOf(group),
  ...deliveryRoutesOf(group),
])
