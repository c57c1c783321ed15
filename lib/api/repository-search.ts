import * as v from 'valibot'
import { ValidationError } from '../http/index.ts'
import { type RepositoryFilter, SEARCH_MODES, SEARCH_SORTS } from '../repositories/search-filters.ts'
import { Repository, replyRepositories } from './repository-presenter.ts'
import { route } from './route.ts'

const SearchResults = v.object({ ok: v.boolean(), data: v.array(Repository) })
const SearchError = v.object({ ok: v.boolean(), error: v.string() })

/** Refuses a parameter that other servers of this kind take and Allot does not. */
const unsupported = (message: string) => v.optional(v.pipe(v.string(), v.regex(/^$/, message)))

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
  // Unused; declared so that it is checked and repeated in `Link`.
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

/** `private=false` leaves out repositories that are hidden from anyone, as on Forgejo. */
const filterIn = (query: v.InferOutput<typeof SearchQuery>): RepositoryFilter => ({
  open: isSet(query.private) === false || undefined,
  private: isSet(query.is_private),
  archived: isSet(query.archived),
  template: isSet(query.template) || undefined,
  mode: query.mode || undefined,
  starredBy: query.starredBy,
  sort: query.sort || undefined,
  descending: query.order === 'desc' || undefined,
})

const isSet = (value: v.InferOutput<typeof flag>): boolean | undefined =>
  value === undefined || value === '' ? undefined : value === 'true' || value === '1'

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
    paging: 'lenient',
    responses: { 200: SearchResults, 422: ValidationError, 500: SearchError },
    failure: (message: string) => ({ ok: false, error: message }),
    handle: async (request, services) => {
      const { user, query, page, client } = request
      const search = { q: query.q, owner: query.uid || undefined, filter: filterIn(query) }
      const found = await services.hosting.search.repositories(user, search, page, client)
      const list = await replyRepositories(services, request, found)
      return { ...list, body: { ok: true, data: list.body } }
    },
  }),
]
