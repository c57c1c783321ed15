import * as v from 'valibot'
import { readableRepository } from '../accounts/access.ts'
import {
  type Authorizer,
  authorizeAdmin,
  authorizeCreateIn,
  authorizeTransferTo,
} from '../accounts/authorize.ts'
import type { Identity } from '../accounts/identity.ts'
import type { Slice } from '../accounts/visible-page.ts'
import { invalid } from '../errors.ts'
import { Empty, ErrorBody, Forbidden, NotFound, ValidationError } from '../http/index.ts'
import type { Account } from '../records/schema/index.ts'
import { ORDERS, type RepositoryOrder, repositoriesFor, repositoriesOf } from '../repositories/lists.ts'
import { type RepositoryFilter, SEARCH_MODES, SEARCH_SORTS } from '../repositories/search-filters.ts'
import type { NewRepository } from '../repositories/storage.ts'
import { acceptedBooleans } from './fields.ts'
import { keptRepository, keptRepositoryPage, type ListRequest } from './list-response.ts'
import { nothingIn, presentRepositories, presentRepository } from './repository-presenter.ts'
import { Repository } from './repository-schema.ts'
import { accountNamed, organizationNamed, signedIn } from './resolve-account.ts'
import { pageOf, reply, route, type Services } from './route.ts'
import { hostOf } from './user-schema.ts'

const CreateRepoOption = v.object({
  name: v.string(),
  description: v.optional(v.pipe(v.string(), v.maxLength(2048))),
  private: v.optional(v.boolean()),
  auto_init: v.optional(v.boolean()),
  gitignores: v.optional(v.pipe(v.string(), v.maxLength(1000))),
  license: v.optional(v.pipe(v.string(), v.maxLength(100))),
  readme: v.optional(v.pipe(v.string(), v.maxLength(100))),
  default_branch: v.optional(v.pipe(v.string(), v.maxLength(100))),
  // Not ignored: who asks for SHA-256 cannot push into a repository of SHA-1.
  object_format_name: v.optional(v.picklist(['', 'sha1'], 'must be sha1, the only format of objects')),
  ...acceptedBooleans('template'),
})
type CreateRepoOption = v.InferOutput<typeof CreateRepoOption>

const EditRepoOption = v.object({
  name: v.optional(v.string()),
  description: v.optional(v.pipe(v.string(), v.maxLength(2048))),
  website: v.optional(v.pipe(v.string(), v.maxLength(1024))),
  private: v.optional(v.boolean()),
  archived: v.optional(v.boolean()),
  default_branch: v.optional(v.pipe(v.string(), v.maxLength(100))),
  ...acceptedBooleans(
    'allow_fast_forward_only_merge',
    'allow_manual_merge',
    'allow_merge_commits',
    'allow_rebase',
    'allow_rebase_explicit',
    'allow_rebase_update',
    'allow_squash_merge',
    'autodetect_manual_merge',
    'default_allow_maintainer_edit',
    'default_delete_branch_after_merge',
    'enable_prune',
    'has_actions',
    'has_issues',
    'has_packages',
    'has_projects',
    'has_pull_requests',
    'has_releases',
    'has_wiki',
    'ignore_whitespace_conflicts',
    'template',
  ),
})

const pageOfOwner = (
  services: Services,
  request: ListRequest,
  { id }: Account,
  by: RepositoryOrder,
  page: Slice,
) =>
  keptRepositoryPage(services, request, `of ${id} by ${by} ${sliceText(page)}`, (tx) =>
    repositoriesOf(tx, request.user, id, by, page),
  )

const sliceText = ({ offset, limit }: Slice): string => `from ${offset} to ${limit}`

const order = v.optional(v.picklist(Object.keys(ORDERS) as RepositoryOrder[]))

const SearchResults = v.object({ ok: v.boolean(), data: v.array(Repository) })
const SearchError = v.object({ ok: v.boolean(), error: v.string() })

/** Refuses a parameter that other servers of this kind take and Allot does not. */
const unsupported = (what: string) => v.optional(v.pipe(v.string(), v.regex(/^$/, what)))

const flag = v.optional(v.picklist(['', 'true', 'false', '1', '0'], 'must be true or false'))

const SearchQuery = v.object({
  q: v.optional(
    v.pipe(
      v.string(),
      v.maxLength(255),
      v.description('A part of the name; several with commas in between; `owner/part` within an owner.'),
    ),
  ),
  uid: v.optional(v.pipe(v.number(), v.integer())),
  // Read so that it is checked, and carried on in `Link`.
  exclusive: v.optional(
    v.pipe(
      flag,
      v.description('A search within `uid` finds what that owner has: true and false are the same.'),
    ),
  ),
  sort: v.optional(v.picklist(['', ...SEARCH_SORTS])),
  order: v.optional(v.picklist(['', 'asc', 'desc'])),
  private: flag,
  is_private: flag,
  archived: flag,
  template: flag,
  mode: v.optional(v.picklist(['', ...SEARCH_MODES])),
  starredBy: v.optional(v.pipe(v.number(), v.integer())),
  includeDesc: unsupported('descriptions are not searched'),
  topic: unsupported('repositories have no topics'),
  team_id: unsupported('organizations have no teams'),
  priority_owner_id: unsupported('one owner cannot be listed first; use uid to search within an owner'),
})
type SearchQuery = v.InferOutput<typeof SearchQuery>

/** What a search asks for besides a name and an owner. `private=false` leaves out what not everyone can see, as on Forgejo. */
const searchFilter = (query: SearchQuery): RepositoryFilter => ({
  open: isSet(query.private) === false || undefined,
  private: isSet(query.is_private),
  archived: isSet(query.archived),
  template: isSet(query.template) || undefined,
  mode: query.mode || undefined,
  starredBy: query.starredBy,
  sort: query.sort || undefined,
  descending: query.order === 'desc' || undefined,
})

const isSet = (text: string | undefined): boolean | undefined =>
  text === undefined || text === '' ? undefined : text === 'true' || text === '1'

const newRepository = (body: CreateRepoOption, baseUrl: string): NewRepository => ({
  host: hostOf(baseUrl),
  name: body.name,
  description: body.description,
  private: body.private,
  autoInit: body.auto_init,
  gitignores: body.gitignores,
  license: body.license,
  readme: body.readme,
  // Go's clients send a string without a value as an empty one.
  defaultBranch: body.default_branch || undefined,
})

const create = async (
  services: Services,
  request: ListRequest & { user: Identity; body: CreateRepoOption },
  owner?: Authorizer<Account>,
) => {
  const { hosting, store } = services
  const creator = await signedIn(services, request.user)
  const record = await hosting.repositories.create(
    owner ?? creator,
    creator,
    newRepository(request.body, request.baseUrl),
  )
  return reply(201, await presentRepository(store, request.user, request, record, nothingIn))
}

const createInOrganization = (
  services: Services,
  request: ListRequest & { user: Identity; body: CreateRepoOption; params: { org: string } },
) => {
  const { user, params } = request
  return create(services, request, authorizeCreateIn(user, params.org))
}

/** As the document has it for `/org/{org}/repos`: 422 also for an organization that the caller may not see. */
const createInNamed: typeof createInOrganization = (services, request) => {
  const { user, params } = request
  const find = authorizeCreateIn(user, params.org)
  return create(services, request, async (tx) => {
    const organization = await find(tx)
    if (organization === undefined) throw invalid(`org: there is no organization named ${params.org}`)
    return organization
  })
}

const created = { 201: Repository, 403: Forbidden, 409: ErrorBody, 422: ValidationError } as const

export const repositoryRoutes = [
  route({
    method: 'POST',
    path: '/org/{org}/repos',
    operationId: 'createOrgRepoDeprecated',
    tag: 'organization',
    summary: 'Create a repository in an organization',
    auth: 'required',
    scope: 'write:organization',
    body: CreateRepoOption,
    responses: created,
    handle: (request, services) => createInNamed(services, request),
  }),
  route({
    method: 'POST',
    path: '/orgs/{org}/repos',
    operationId: 'createOrgRepo',
    tag: 'organization',
    summary: 'Create a repository in an organization',
    auth: 'required',
    scope: 'write:organization',
    body: CreateRepoOption,
    responses: { ...created, 404: NotFound },
    handle: (request, services) => createInOrganization(services, request),
  }),
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
      const { user, params, page } = request
      const organization = await organizationNamed(services, user, params.org)
      if (organization === undefined) return reply(404)
      return pageOfOwner(services, request, organization, 'id', page)
    },
  }),
  route({
    method: 'POST',
    path: '/user/repos',
    operationId: 'createCurrentUserRepo',
    tag: 'repository',
    summary: 'Create a repository of the signed-in user',
    auth: 'required',
    scope: ['write:user', 'write:repository'],
    body: CreateRepoOption,
    responses: created,
    handle: (request, services) => create(services, request),
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
    paging: 'lenient',
    query: v.object({ order_by: order }),
    responses: { 200: v.array(Repository), 422: ValidationError },
    handle: async (request, services) => {
      const { user, query, page } = request
      const by = query.order_by ?? 'name'
      return keptRepositoryPage(services, request, `for the viewer by ${by} ${sliceText(page)}`, (tx) =>
        repositoriesFor(tx, user, by, page),
      )
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
    paging: 'lenient',
    query: v.object({ order_by: order }),
    responses: { 200: v.array(Repository), 404: NotFound, 422: ValidationError },
    handle: async (request, services) => {
      const { user, params, query, page } = request
      const account = await accountNamed(services, user, params.username)
      if (account === undefined) return reply(404)
      return pageOfOwner(services, request, account, query.order_by ?? 'id', page)
    },
  }),
  route({
    method: 'GET',
    path: '/repos/search',
    operationId: 'repoSearch',
    tag: 'repository',
    summary: 'Search repositories by a part of the name',
    auth: 'optional',
    scope: 'read:repository',
    paging: 'lenient',
    query: SearchQuery,
    responses: { 200: SearchResults, 422: ValidationError, 500: SearchError },
    failure: (message: string) => ({ ok: false, error: message }),
    handle: async (request, { hosting, store }) => {
      const { user, query, page } = request
      const found = await hosting.search.repositories(
        user,
        { q: query.q, owner: query.uid || undefined, filter: searchFilter(query) },
        page,
        request.client,
      )
      const answer = pageOf(await presentRepositories(store, user, request, found.items), found.total)
      return { ...answer, body: { ok: true, data: answer.body } }
    },
  }),
  route({
    method: 'GET',
    path: '/repos/{owner}/{repo}',
    operationId: 'repoGet',
    tag: 'repository',
    summary: 'A repository',
    auth: 'optional',
    scope: 'read:repository',
    cacheable: true,
    responses: { 200: Repository, 404: NotFound },
    handle: async (request, services) => {
      const { user, params } = request
      const found = await keptRepository(services, request, `${params.owner}/${params.repo}`, (tx) =>
        readableRepository(tx, user, params.owner, params.repo),
      )
      return found === undefined ? reply(404) : reply(200, found)
    },
  }),
  route({
    method: 'PATCH',
    path: '/repos/{owner}/{repo}',
    operationId: 'repoEdit',
    tag: 'repository',
    summary: 'Change a repository: its name, description, privacy',
    auth: 'required',
    scope: 'write:repository',
    body: EditRepoOption,
    responses: { 200: Repository, 403: Forbidden, 404: NotFound, 409: ErrorBody, 422: ValidationError },
    handle: async (request, services) => {
      const { user, params, body } = request
      const { default_branch: defaultBranch, ...edit } = body
      const administered = authorizeAdmin(user, params.owner, params.repo)
      const edited = await services.hosting.repositories.edit(administered, {
        ...edit,
        defaultBranch: defaultBranch || undefined,
      })
      return edited === undefined
        ? reply(404)
        : reply(200, await presentRepository(services.store, user, request, edited))
    },
  }),
  route({
    method: 'DELETE',
    path: '/repos/{owner}/{repo}',
    operationId: 'repoDelete',
    tag: 'repository',
    summary: 'Delete a repository, with everything that counts in it',
    auth: 'required',
    scope: 'write:repository',
    responses: { 204: Empty, 403: Forbidden, 404: NotFound },
    handle: async ({ user, params }, { hosting }) => {
      const administered = authorizeAdmin(user, params.owner, params.repo)
      return (await hosting.repositories.remove(administered)) ? reply(204) : reply(404)
    },
  }),
  route({
    method: 'POST',
    path: '/repos/{owner}/{repo}/transfer',
    operationId: 'repoTransfer',
    tag: 'repository',
    summary: 'Give a repository to another owner, with its usage',
    auth: 'required',
    scope: 'write:repository',
    body: v.object({ new_owner: v.pipe(v.string(), v.maxLength(255)) }),
    responses: { 202: Repository, 403: Forbidden, 404: NotFound, 409: ErrorBody, 422: ValidationError },
    handle: async (request, services) => {
      const { user, params, body } = request
      const administered = authorizeAdmin(user, params.owner, params.repo)
      const receiving = authorizeTransferTo(user, body.new_owner)
      const moved = await services.hosting.repositories.transfer(administered, receiving)
      return moved === undefined
        ? reply(404)
        : reply(202, await presentRepository(services.store, user, request, moved))
    },
  }),
]
