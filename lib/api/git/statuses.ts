/** Statuses of commits, which CI systems set. */
import * as v from 'valibot'
import { type StatusDetails, statusDetails } from '../../content/details.ts'
import { STATUS_LIMITS, TARGET_URL } from '../../content/statuses.ts'
import { type CommitStatus as StatusRecord, StatusState } from '../../records/schema/index.ts'
import * as f from '../fields.ts'
import { Repository, type RepositoryUrls, readRepository } from '../repository-presenter.ts'
import type { Recipient, Services } from '../route.ts'
import { userView } from '../users.ts'
import { resource, shown } from '../view.ts'
import { openAt, repositories } from './access.ts'
import { API, commitUrl, ID, Sha, urlsOf } from './schema.ts'

const state = f.example(StatusState, 'success')

const commitStatus = resource<StatusDetails & { readonly urls: RepositoryUrls }>()({
  id: [f.number(15), ({ status }) => status.id],
  status: [state, ({ status }) => status.state],
  target_url: [f.text('https://ci.example.org/42'), ({ status }) => status.targetUrl],
  description: [f.text('All tests pass'), ({ status }) => status.description],
  url: [f.link(`${API}/statuses/${ID}`), ({ status, urls }) => `${urls.api}/statuses/${status.sha}`],
  context: [f.text('ci/build'), ({ status }) => status.context],
  creator: shown(userView, ({ creator }) => creator),
  created_at: [f.Time, ({ status }) => f.timestamp(status.createdAt)],
  updated_at: [f.Time, ({ status }) => f.timestamp(status.createdAt)],
})
const CommitStatus = commitStatus.schema
type CommitStatus = v.InferOutput<typeof CommitStatus>

const CombinedStatus = v.object({
  state: f.example(v.picklist(['success', 'pending', 'failure']), 'success'),
  sha: Sha,
  total_count: f.number(1),
  statuses: v.array(CommitStatus),
  repository: Repository,
  commit_url: f.link(`${API}/git/commits/${ID}`),
  url: f.link(`${API}/commits/${ID}/status`),
})

const optionalText = (limit: number, value: string) =>
  v.optional(v.nullable(f.example(v.pipe(v.string(), v.maxLength(limit)), value)))

const CreateStatusOption = v.object({
  state,
  /** `default` when absent. */
  context: optionalText(STATUS_LIMITS.context, 'ci/build'),
  description: optionalText(STATUS_LIMITS.description, 'All tests pass'),
  target_url: v.optional(
    v.nullable(
      f.example(
        v.pipe(
          v.string(),
          v.maxLength(STATUS_LIMITS.targetUrl),
          v.regex(TARGET_URL, 'must be a URL of http or https'),
        ),
        'https://ci.example.org/42',
      ),
    ),
  ),
})

const readStatuses = async (
  { store }: Services,
  request: Recipient,
  urls: RepositoryUrls,
  statuses: readonly StatusRecord[],
): Promise<CommitStatus[]> => {
  const details = await store.read((tx) => statusDetails(tx, request.user, statuses))
  return details.map((status) => commitStatus.present({ ...status, urls }, request))
}

const OLDEST_FIRST: readonly (string | undefined)[] = ['oldest', 'leastupdate', 'leastindex']

const StatusQuery = v.object({
  sort: f.choice(
    'Order: the newest first when absent. A status never changes, so the names of other orders mean these two.',
    ...['oldest', 'recentupdate', 'leastupdate', 'leastindex', 'highestindex'],
  ),
  state: f.choice('Only statuses of this state.', ...StatusState.options),
})

/** Both paths list the statuses of a commit; clients use one or the other. */
const LISTS = [
  ['/statuses/{sha}', 'repoListStatuses'],
  ['/commits/{sha}/statuses', 'repoListStatusesByRef'],
] as const

export const statusRoutes = [
  repositories.post('repoCreateStatus', '/statuses/{sha}', {
    summary: 'Set the status of a commit, which replaces the one before of the same context',
    body: CreateStatusOption,
    of: CommitStatus,
    run: async (request, services) => {
      const { user, repository, params, body } = request
      const open = await openAt(services, request, params.sha)
      const created = await services.hosting.statuses.create(user, repository, open.commit, {
        state: body.state,
        context: body.context ?? undefined,
        description: body.description ?? undefined,
        targetUrl: body.target_url ?? undefined,
      })
      if (created === undefined) return undefined
      const urls = await urlsOf(services, created.repository, request)
      const [status] = await readStatuses(services, request, urls, [created.status])
      return status
    },
  }),
  ...LISTS.map(([path, operationId]) =>
    repositories.list(operationId, path, {
      summary: 'The statuses of a commit, those that were replaced included, the newest first',
      query: StatusQuery,
      of: CommitStatus,
      run: async (request, services) => {
        const { user, repository, params, query, page } = request
        const open = await openAt(services, request, params.sha)
        const which = { state: query.state || undefined, isOldestFirst: OLDEST_FIRST.includes(query.sort) }
        const found = await services.hosting.statuses.list(user, repository, open.commit, which, page)
        if (found === undefined) return undefined
        const urls = await urlsOf(services, found.repository, request)
        const { items, total } = found.page
        return { items: await readStatuses(services, request, urls, items), total }
      },
    }),
  ),
  repositories.get('repoGetCombinedStatusByRef', '/commits/{sha}/status', {
    summary: 'The newest status of each context of a commit, and what they say together',
    paging: 'pages',
    of: CombinedStatus,
    run: async (request, services) => {
      const { user, repository, params, page } = request
      const open = await openAt(services, request, params.sha)
      const { commit } = open
      const found = await services.hosting.statuses.combined(user, repository, commit, page)
      if (found === undefined) return undefined
      const urls = await urlsOf(services, found.repository, request)
      return {
        state: found.state,
        sha: commit,
        total_count: found.page.total,
        statuses: await readStatuses(services, request, urls, found.page.items),
        repository: await readRepository(services, request, found.repository),
        commit_url: commitUrl(urls, commit),
        url: `${urls.api}/commits/${commit}/status`,
      }
    },
  }),
]
