import * as v from 'valibot'
import type { SignedIn, Viewer } from '../accounts/access.ts'
import { NotFound, SerializedJson, ValidationError } from '../http/index.ts'
import type { Slice } from '../records/pages.ts'
import { cachedRead } from '../records/store.ts'
import { ORDERS, type RepositoryOrder, repositoriesFor, repositoriesOf } from '../repositories/lists.ts'
import {
  MAX_MATCHES,
  type RepositoryFilter,
  SEARCH_MODES,
  SEARCH_SORTS,
} from '../repositories/search/filters.ts'
import { partsOf, type RepositoryQuery, readsEveryMatch, type Search } from '../repositories/search/search.ts'
import { type Complete, example, idQuery, parameter, text } from './fields.ts'
import {
  cachedRepositories,
  presentRepositories,
  Repository,
  replyRepositories,
} from './repository-presenter.ts'
import { type Recipient, recipientOf, reply, route, type Services } from './route.ts'

const order = v.optional(
  parameter(v.picklist(Object.keys(ORDERS) as RepositoryOrder[]), 'What the repositories are ordered by.'),
)

type ListInput = {
  readonly recipient: Recipient
  readonly by: RepositoryOrder
  readonly offset: number
  readonly limit: number
}

const listInput = <User extends Viewer>(
  request: Recipient & { user: User; page: Slice },
  by: RepositoryOrder,
) => {
  const { offset, limit } = request.page
  return { recipient: recipientOf(request), by, offset, limit }
}

const replyOwned = cachedRepositories(
  'repositories of an owner',
  (tx, { recipient, owner, by, offset, limit }: ListInput & { owner: number }) =>
    repositoriesOf(tx, recipient.user, owner, by, { offset, limit }),
)

const replyOwn = cachedRepositories(
  'repositories for the viewer',
  (tx, { recipient, by, offset, limit }: ListInput & { recipient: { user: SignedIn } }) =>
    repositoriesFor(tx, recipient.user, by, { offset, limit }),
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
    paging: 'pages',
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
    paging: 'pages',
    responses: { 200: v.array(Repository), 422: ValidationError },
    handle: (request, services) => replyOwn(services, listInput(request, request.query.order_by ?? 'name')),
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
    paging: 'pages',
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

const SearchResults = v.object({ ok: example(v.boolean(), true), data: v.array(Repository) })
const SearchError = v.object({ ok: v.boolean(), error: text('an internal error occurred') })

/** Refuses a parameter that other servers of this kind take and Allot does not. */
const unsupported = (message: string) =>
  v.optional(parameter(v.pipe(v.string(), v.regex(/^$/, message)), `Not supported: ${message}.`))

const flag = (description: string) =>
  v.optional(parameter(v.picklist(['', 'true', 'false', '1', '0'], 'must be true or false'), description))

const SearchQuery = v.object({
  q: v.optional(
    v.pipe(
      v.string(),
      v.maxLength(255),
      v.description(
        'Part of the name. Several are separated by commas. `owner/part` searches within an owner.',
      ),
    ),
  ),
  uid: idQuery('Id of the owner to search within.'),
  // Unused; declared so that it is checked and repeated in `Link`.
  exclusive: flag('A search within `uid` finds what that owner has: true and false are the same.'),
  sort: v.optional(
    parameter(
      v.picklist(['', ...SEARCH_SORTS]),
      `What the repositories are ordered by; \`alpha\` when absent. Another order or direction, and each filter, is refused when more than ${MAX_MATCHES} repositories match \`q\` and \`uid\`; with \`topic\` or \`includeDesc\`, when \`uid\` has more.`,
    ),
  ),
  order: v.optional(parameter(v.picklist(['', 'asc', 'desc']), 'Direction of `sort`.')),
  private: flag('Whether to include private repositories.'),
  is_private: flag('Finds only private, or only public repositories.'),
  archived: flag('Finds only archived repositories, or only others.'),
  mode: v.optional(
    parameter(
      v.picklist(['', ...SEARCH_MODES, 'collaborative']),
      'Finds only repositories of this kind; all of them are `collaborative`.',
    ),
  ),
  starredBy: idQuery('Id of a user who has starred them.'),
  includeDesc: flag('Whether to search descriptions and topics as well as names.'),
  topic: flag('Whether to search topics only.'),
  team_id: unsupported('a search is not limited to a team; /teams/{id}/repos lists its repositories'),
  priority_owner_id: unsupported('one owner cannot be listed first; use uid to search within an owner'),
})

/**
 * `private=false` leaves out repositories that are hidden from anyone, as on Forgejo. Neither `sort=alpha`,
 * the order of the index, nor `mode=collaborative`, which every repository matches, is a filter.
 */
const filterIn = (query: v.InferOutput<typeof SearchQuery>): Complete<RepositoryFilter> => ({
  open: isSet(query.private) === false || undefined,
  private: isSet(query.is_private),
  archived: isSet(query.archived),
  texts: textsIn(query),
  mode: query.mode === 'collaborative' ? undefined : query.mode || undefined,
  starredBy: query.starredBy,
  sort: query.sort === 'alpha' ? undefined : query.sort || undefined,
  descending: query.order === 'desc' || undefined,
})

/** A search of topics is exact; one that includes descriptions finds parts of them and of names, too. */
const textsIn = ({ q = '', topic, includeDesc }: v.InferOutput<typeof SearchQuery>) => {
  const [topicOnly, withTexts] = [isSet(topic) === true, isSet(includeDesc) === true]
  const parts = topicOnly || withTexts ? partsOf(q) : []
  return parts.length === 0 ? undefined : { parts, topicOnly }
}

const isSet = (value: v.InferOutput<ReturnType<typeof flag>>): boolean | undefined =>
  value === undefined || value === '' ? undefined : value === 'true' || value === '1'

type SearchInput = {
  readonly recipient: Recipient
  readonly search: Search
  readonly q: string
  readonly owner: number | undefined
  readonly offset: number
  readonly limit: number
}

const readFound = cachedRead('repository search', async (tx, input: SearchInput) => {
  const { page, cacheTotals } = await input.search.pageIn(tx, input.recipient.user, input, input)
  const json = new SerializedJson({
    ok: true,
    data: await presentRepositories(tx, input.recipient, page.items),
  })
  return { json, total: page.total, cacheTotals }
})

const searchInput = (
  request: Recipient & { page: Slice },
  { hosting }: Services,
  { q = '', owner }: RepositoryQuery,
): SearchInput => ({
  recipient: recipientOf(request),
  q,
  owner,
  search: hosting.search,
  offset: request.page.offset,
  limit: request.page.limit,
})

/** Replies with a page that the read cache keeps, as the same words are searched for again and again. */
const replyFound = async ({ store }: Services, input: SearchInput) => {
  const { json, total, cacheTotals } = await readFound(store, input)
  for (const cacheTotal of cacheTotals) cacheTotal()
  return { status: 200 as const, body: json, total }
}

export const repositorySearchRoutes = [
  route({
    method: 'GET',
    path: '/repos/search',
    operationId: 'repoSearch',
    tag: 'repository',
    summary: 'Search repositories by a part of the name',
    auth: 'optional',
    scope: 'read:repository',
    query: SearchQuery,
    paging: 'pages',
    responses: { 200: SearchResults, 422: ValidationError, 500: SearchError },
    failure: (message: string) => ({ ok: false, error: message }),
    handle: async (request, services) => {
      const { user, query, page, client } = request
      const search = { q: query.q, owner: query.uid || undefined, filter: filterIn(query) }
      if (!readsEveryMatch(search)) return replyFound(services, searchInput(request, services, search))
      const found = await services.hosting.search.repositories(user, search, page, client())
      const list = await replyRepositories(services, request, found)
      return { ...list, body: { ok: true, data: list.body } }
    },
  }),
]
