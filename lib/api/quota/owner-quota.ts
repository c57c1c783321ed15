/**
 * Usage and limits of one owner, of the signed-in user and of an organization for its owners, and what counts
 * toward them.
 */
import * as v from 'valibot'
import type { Identity } from '../../accounts/access.ts'
import { type Attached, pageOfEntry, type UsedEntry } from '../../content/usage/ledger-lists.ts'
import type { HtmlUrls } from '../../host-pages/html-urls.ts'
import type { ListedKind } from '../../quota/ledger.ts'
import type { Owner } from '../../quota/owners.ts'
import { explanationOf, isOver, type QuotaStatus } from '../../quota/status.ts'
import type { Subject } from '../../quota/subjects.ts'
import { HISTORY_DAYS } from '../../quota/usage.ts'
import type { LedgerRecord } from '../../records/schema/index.ts'
import type { ReadTransaction } from '../../storage/index.ts'
import { number, text } from '../fields.ts'
import {
  AnySubjectQuery,
  HistoryQuery,
  presentExplanation,
  presentHistory,
  presentStatus,
  QuotaExplanationInfo,
  QuotaHistory,
  QuotaInfo,
  SubjectQuery,
} from './schema.ts'
import { type QuotaServices, quotaAt } from './services.ts'

// The entries that count toward quota. Links are empty in a repository that is hidden from the viewer.

export const QuotaUsedAttachment = v.object({
  name: text('log.txt'),
  size: number(2048),
  api_url: text('https://code.example.org/api/v1/repos/alice/app/issues/1/assets/11'),
  contained_in: v.object({
    api_url: text('https://code.example.org/api/v1/repos/alice/app/issues/1'),
    html_url: text('https://code.example.org/alice/app/issues/1'),
  }),
})

export const QuotaUsedPackage = v.object({
  name: text('tool'),
  type: text('generic'),
  version: text('1.0.0'),
  size: number(5),
  html_url: text('https://code.example.org/alice/-/packages/generic/tool/1.0.0'),
})

export const QuotaUsedArtifact = v.object({
  name: text('log'),
  size: number(1500),
  html_url: text('https://code.example.org/alice/app/actions/runs/1'),
})

/** The inputs of the links in a list. */
interface UsedListUrls {
  readonly baseUrl: string
  readonly apiUrl: string
  readonly htmlUrls: HtmlUrls
  /** Name of the owner. */
  readonly owner: string
}

const htmlUrlOf = (used: UsedEntry, { baseUrl, htmlUrls, owner }: UsedListUrls): string => {
  const page = used.isHidden ? undefined : pageOfEntry(used, owner)
  return (page && htmlUrls.of(page, baseUrl)) ?? ''
}

const presentUsedAttachment = (
  used: UsedEntry,
  urls: UsedListUrls,
): v.InferOutput<typeof QuotaUsedAttachment> => {
  const { entry, repository, attached, isHidden } = used
  const { name, size, key } = entry
  if (isHidden || repository === undefined)
    return { name, size, api_url: '', contained_in: { api_url: '', html_url: '' } }
  const path = attached === undefined ? externalPath(entry) : targetPath(attached)
  const target = `${urls.apiUrl}/repos/${urls.owner}/${repository}/${path}`
  return {
    name,
    size,
    api_url: `${target}/assets/${attached?.id ?? encodeURIComponent(key)}`,
    contained_in: { api_url: target, html_url: htmlUrlOf(used, urls) },
  }
}

/** Path of the target of an attachment, below that of its repository in the API. */
const targetPath = ({ on, targetId }: Attached): string =>
  `${on === 'comment' ? 'issues/comments' : `${on}s`}/${targetId}`

/** The same for an attachment of the host, with the host's own number of the issue or the release. */
const externalPath = ({ on, index }: LedgerRecord): string =>
  `${on === 'issue' ? 'issues' : 'releases'}/${index ?? 0}`

const presentUsedPackage = (used: UsedEntry, urls: UsedListUrls): v.InferOutput<typeof QuotaUsedPackage> => {
  const { name, type, version, size } = used.entry
  return { name, type: type ?? '', version: version ?? '', size, html_url: htmlUrlOf(used, urls) }
}

const presentUsedArtifact = (
  used: UsedEntry,
  urls: UsedListUrls,
): v.InferOutput<typeof QuotaUsedArtifact> => ({
  name: used.entry.name,
  size: used.entry.size,
  html_url: htmlUrlOf(used, urls),
})

/** `true` when the owner is over quota; in the dialect of Forgejo `true` when the owner is within. */
const presentCheck = ({ options }: QuotaServices, status: QuotaStatus, subject: Subject): boolean =>
  isOver(status, subject) !== (options.dialect === 'forgejo')

/** The differences between the routes of users and of organizations. */
interface OwnerKind {
  path: '/user/quota' | '/orgs/{org}/quota'
  /** The first word of each `operationId`. */
  prefix: 'user' | 'org'
  /** Name of the owner in summaries. */
  title: string
  scope: 'user' | 'organization'
  /** @throws AllotError not_found, forbidden when the client may not see the owner's quota */
  find(tx: ReadTransaction, user: Identity, params: { org?: string }, services: QuotaServices): Promise<Owner>
}

const statusRoutes = ({ path, prefix, title, scope, find }: OwnerKind) => {
  const quotas = quotaAt(path, { tag: 'quota', scope, reads: 'required' })
  /** The status of the owner that a request is about. */
  const statusFor = async (
    tx: ReadTransaction,
    { user, params }: { user: Identity; params: { org?: string } },
    services: QuotaServices,
  ) => services.quota.statuses.read(tx, (await find(tx, user, params, services)).id)
  return [
    quotas.get(`${prefix}GetQuota`, '', {
      summary: `${capitalized(title)}'s usage, and the groups it is judged by`,
      cached: true,
      of: QuotaInfo,
      run: async (request, services, tx) =>
        presentStatus(await statusFor(tx, request, services), request.user.admin),
    }),
    quotas.get(`${prefix}CheckQuota`, '/check', {
      summary: `Whether ${title} is over quota for a subject`,
      cached: true,
      query: SubjectQuery,
      of: v.boolean(),
      run: async (request, services, tx) =>
        presentCheck(services, await statusFor(tx, request, services), request.query.subject),
    }),
    quotas.get(`${prefix}ExplainQuota`, '/explain', {
      summary: `Why ${title} is, or is not, over quota for a subject; without one, for the subject with the fewest bytes left`,
      cached: true,
      query: AnySubjectQuery,
      of: QuotaExplanationInfo,
      run: async (request, services, tx) => {
        const explanation = explanationOf(await statusFor(tx, request, services), request.query.subject)
        return presentExplanation(explanation, request.user.admin)
      },
    }),
    quotas.get(`${prefix}GetQuotaHistory`, '/history', {
      summary: `${capitalized(title)}'s usage at the end of each day on which it changed, for up to ${HISTORY_DAYS} days`,
      query: HistoryQuery,
      of: QuotaHistory,
      run: async ({ user, params, query }, services) => {
        const { id } = await services.store.read((tx) => find(tx, user, params, services))
        return presentHistory(await services.quota.history(id, query.days))
      },
    }),
  ]
}

const usedListRoute = <T>(
  { path, prefix, title, scope, find }: OwnerKind,
  kind: ListedKind,
  schema: v.GenericSchema<T>,
  present: (used: UsedEntry, urls: UsedListUrls) => T,
) =>
  quotaAt(path, { tag: 'quota', scope, reads: 'required' }).list(
    `${prefix}ListQuota${capitalized(kind)}`,
    `/${kind}`,
    {
      summary: `The ${kind} that count toward ${title}'s quota`,
      cached: true,
      of: schema,
      run: async ({ user, params, apiUrl, baseUrl, htmlUrls, page }, services, tx) => {
        const { id, name } = await find(tx, user, params, services)
        const urls = { apiUrl, baseUrl, htmlUrls, owner: name }
        const { items, total } = await services.hosting.usage.used(tx, user, id, kind, page)
        return { items: items.map((used) => present(used, urls)), total }
      },
    },
  )

const capitalized = (text: string): string => text.replace(/^./, (first) => first.toUpperCase())

const routesOf = (kind: OwnerKind) => [
  ...statusRoutes(kind),
  usedListRoute(kind, 'attachments', QuotaUsedAttachment, presentUsedAttachment),
  usedListRoute(kind, 'packages', QuotaUsedPackage, presentUsedPackage),
  usedListRoute(kind, 'artifacts', QuotaUsedArtifact, presentUsedArtifact),
]

export const userQuotaRoutes = routesOf({
  path: '/user/quota',
  prefix: 'user',
  title: 'the signed-in user',
  scope: 'user',
  find: async (_tx, { id, username }) => ({ id, name: username }),
})

export const organizationQuotaRoutes = routesOf({
  path: '/orgs/{org}/quota',
  prefix: 'org',
  title: 'an organization',
  scope: 'organization',
  find: (tx, user, { org = '' }, { owners }) => owners.findOrganization(tx, user, org),
})
