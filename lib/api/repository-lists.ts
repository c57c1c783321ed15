import * as v from 'valibot'
import type { Viewer } from '../accounts/access.ts'
import { NotFound, ValidationError } from '../http/index.ts'
import type { Slice } from '../records/collection.ts'
import { ORDERS, type RepositoryOrder, repositoriesFor, repositoriesOf } from '../repositories/lists.ts'
import { cachedRepositories, Repository } from './repository-presenter.ts'
import { type Recipient, reply, route } from './route.ts'

const order = v.optional(v.picklist(Object.keys(ORDERS) as RepositoryOrder[]))

type ListInput = Recipient & {
  readonly by: RepositoryOrder
  readonly offset: number
  readonly limit: number
}

const listInput = (request: Recipient & { page: Slice }, by: RepositoryOrder): ListInput => {
  const { user, baseUrl, apiUrl, page } = request
  return { user, baseUrl, apiUrl, by, offset: page.offset, limit: page.limit }
}

const replyOwned = cachedRepositories(
  'repositories of an owner',
  (tx, { user, owner, by, offset, limit }: ListInput & { owner: number }) =>
    repositoriesOf(tx, user, owner, by, { offset, limit }),
)

const replyOwn = cachedRepositories(
  'repositories for the viewer',
  (tx, { user, by, offset, limit }: ListInput & { user: NonNullable<Viewer> }) =>
    repositoriesFor(tx, user, by, { offset, limit }),
)

export const repositoryListRoutes = [
  route({
    method: 'GET',
    path: '/orgs/{org}/repos',
    operationId: 'orgListRepos',
    tag: 'organization',
    summary: "An organization's repositories",
    auth: 'optional',
    scope: 'read:organization',
    cacheable: true,
    paging: 'lenient',
    responses: { 200: v.array(Repository), 404: NotFound },
    handle: async (request, services) => {
      const organization = await services.hosting.organizations.find(request.user, request.params.org)
      return organization === undefined
        ? reply(404)
        : replyOwned(services, { ...listInput(request, 'id'), owner: organization.id })
    },
  }),
  route({
    method: 'GET',
    path: '/user/repos',
    operationId: 'userCurrentListRepos',
    tag: 'user',
    summary: "The signed-in user's repositories, and those of the user's organizations",
    auth: 'required',
    scope: ['read:user', 'read:repository'],
    cacheable: true,
    query: v.object({ order_by: order }),
    paging: 'lenient',
    responses: { 200: v.array(Repository), 422: ValidationError },
    handle: async (request, services) => {
      const { user, query } = request
      return replyOwn(services, { ...listInput(request, query.order_by ?? 'name'), user })
    },
  }),
  route({
    method: 'GET',
    path: '/users/{username}/repos',
    operationId: 'userListRepos',
    tag: 'user',
    summary: "A user's repositories",
    auth: 'optional',
    scope: ['read:user', 'read:repository'],
    cacheable: true,
    query: v.object({ order_by: order }),
    paging: 'lenient',
    responses: { 200: v.array(Repository), 404: NotFound, 422: ValidationError },
    handle: async (request, services) => {
      const { user, params, query } = request
      const account = await services.hosting.accounts.find(user, params.username)
      return account === undefined
        ? reply(404)
        : replyOwned(services, { ...listInput(request, query.order_by ?? 'id'), owner: account.id })
    },
  }),
]
