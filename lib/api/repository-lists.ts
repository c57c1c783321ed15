import * as v from 'valibot'
import { visibleAccount, visibleOrganization } from '../accounts/find.ts'
import { ErrorBody } from '../http/index.ts'
import { ORDERS, type RepositoryOrder, repositoriesFor, repositoriesOf } from '../repositories/lists.ts'
import {
  MAX_MATCHES,
  type RepositoryFilter,
  SEARCH_MODES,
  SEARCH_SORTS,
} from '../repositories/search/filters.ts'
import { partsOf, readsMany } from '../repositories/search/search.ts'
import * as f from './fields.ts'
import { repositoryView } from './repository-presenter.ts'
import { at } from './route.ts'
import { searchResults } from './view.ts'

const order = f.optionalQuery(
  v.picklist(Object.keys(ORDERS) as RepositoryOrder[]),
  'What the repositories are ordered by.',
)

const ofUser = { scope: ['user', 'repository'] } as const

export const repositoryListRoutes = [
  at('/orgs/{org}/repos', { scope: 'organization' }).list('orgListRepos', '', {
    summary: "An organization's repositories",
    cached: true,
    of: repositoryView,
    run: async ({ user, params, page }, _services, tx) => {
      const organization = await visibleOrganization(tx, user, params.org)
      return organization && repositoriesOf(tx, user, organization.id, 'id', page)
    },
  }),
  at('/user/repos', { ...ofUser, reads: 'required' }).list('userCurrentListRepos', '', {
    summary: "The signed-in user's repositories, and those of the user's organizations",
    cached: true,
    query: v.object({ order_by: order }),
    of: repositoryView,
    run: ({ user, query, page }, _services, tx) => repositoriesFor(tx, user, query.order_by ?? 'name', page),
  }),
  at('/users/{username}/repos', ofUser).list('userListRepos', '', {
    summary: "A user's repositories",
    cached: true,
    query: v.object({ order_by: order }),
    of: repositoryView,
    run: async ({ user, params, query, page }, _services, tx) => {
      const account = await visibleAccount(tx, user, params.username)
      return account && repositoriesOf(tx, user, account.id, query.order_by ?? 'id', page)
    },
  }),
]

const SearchError = v.object({ ok: v.boolean(), error: f.text('an internal error occurred') })

/** Refuses a parameter that other servers of this kind take and Allot does not. */
const unsupported = (message: string) =>
  f.optionalQuery(v.pipe(v.string(), v.regex(/^$/, message)), `Not supported: ${message}.`)

const flag = (description: string) =>
  f.optionalQuery(v.picklist(['', 'true', 'false', '1', '0'], 'must be true or false'), description)

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
  uid: f.idQuery('Id of the owner to search within.'),
  // Unused; declared so that it is checked and repeated in `Link`.
  exclusive: flag('A search within `uid` finds what that owner has: true and false are the same.'),
  sort: f.optionalQuery(
    v.picklist(['', ...SEARCH_SORTS]),
    `What the repositories are ordered by; \`alpha\` when absent. Another order or direction, and each filter, is refused when more than ${MAX_MATCHES} repositories match \`q\` and \`uid\`; with \`topic\` or \`includeDesc\`, when \`uid\` has more.`,
  ),
  order: f.optionalQuery(v.picklist(['', 'asc', 'desc']), 'Direction of `sort`.'),
  private: flag('Whether to include private repositories.'),
  is_private: flag('Finds only private, or only public repositories.'),
  archived: flag('Finds only archived repositories, or only others.'),
  mode: f.optionalQuery(
    v.picklist(['', ...SEARCH_MODES, 'collaborative']),
    'Finds only repositories of this kind; all of them are `collaborative`.',
  ),
  starredBy: f.idQuery('Id of a user who has starred them.'),
  includeDesc: flag('Whether to search descriptions and topics as well as names.'),
  topic: flag('Whether to search topics only.'),
  team_id: unsupported('a search is not limited to a team; /teams/{id}/repos lists its repositories'),
  priority_owner_id: unsupported('one owner cannot be listed first; use uid to search within an owner'),
})

/**
 * `private=false` leaves out repositories that are hidden from anyone, as on Forgejo. Neither `sort=alpha`,
 * the order of the index, nor `mode=collaborative`, which every repository matches, is a filter.
 */
const filterIn = (query: v.InferOutput<typeof SearchQuery>): f.Complete<RepositoryFilter> => ({
  open: isSet(query.private) === false || undefined,
  private: isSet(query.is_private),
  archived: isSet(query.archived),
  texts: textsIn(query),
  mode: query.mode === 'collaborative' ? undefined : query.mode || undefined,
  starredBy: query.starredBy,
  sort: query.sort === 'alpha' ? undefined : query.sort || undefined,
  descending: query.order === 'desc' || undefined,
})

const searchIn = (query: v.InferOutput<typeof SearchQuery>) => ({
  q: query.q,
  owner: query.uid || undefined,
  filter: filterIn(query),
})

/** A search of topics is exact; one that includes descriptions finds parts of them and of names, too. */
const textsIn = ({ q = '', topic, includeDesc }: v.InferOutput<typeof SearchQuery>) => {
  const [topicOnly, withTexts] = [isSet(topic) === true, isSet(includeDesc) === true]
  const parts = topicOnly || withTexts ? partsOf(q) : []
  return parts.length === 0 ? undefined : { parts, topicOnly }
}

const isSet = (value: v.InferOutput<ReturnType<typeof flag>>): boolean | undefined =>
  value === undefined || value === '' ? undefined : value === 'true' || value === '1'

export const repositorySearchRoutes = [
  at('/repos', { scope: 'repository' }).list('repoSearch', '/search', {
    summary: 'Search repositories by a part of the name',
    query: SearchQuery,
    of: repositoryView,
    wrap: searchResults,
    also: { 422: ErrorBody, 500: SearchError },
    failure: (message: string) => ({ ok: false, error: message }),
    cached: ({ query, page }) => !readsMany(searchIn(query), page),
    run: ({ user, query, page, client }, { hosting: { search } }, tx) =>
      tx === undefined
        ? search.repositories(user, searchIn(query), page, client())
        : search.pageIn(tx, user, searchIn(query), page, client()),
  }),
]
