/**
 * Usage and limits of one owner, of the signed-in user and of an organization for its owners, and what counts
 * toward them.
 */
import * as v from 'valibot'
import type { Identity } from '../../accounts/access.ts'
import { type Attached, pageOfEntry, type UsedEntry } from '../../content/usage/ledger-lists.ts'
import type { HtmlUrls } from '../../host-pages/html-urls.ts'
import { Forbidden, NotFound, ValidationError } from '../../http/index.ts'
import type { ListedKind } from '../../quota/ledger.ts'
import type { Owner } from '../../quota/owners.ts'
import { explanationOf, isOver, type QuotaStatus } from '../../quota/status.ts'
import type { Subject } from '../../quota/subjects.ts'
import { HISTORY_DAYS } from '../../quota/usage.ts'
import type { LedgerRecord } from '../../records/schema/index.ts'
import type { ReadTransaction } from '../../storage/index.ts'
import { number, text } from '../fields.ts'
import { reply, replyPage } from '../route.ts'
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
import { type QuotaServices, quotaRoute as route } from './services.ts'

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
const presentCheck = ({ dialect }: QuotaServices, status: QuotaStatus, subject: Subject): boolean =>
  isOver(status, subject) !== (dialect === 'forgejo')

/** The differences between the routes of users and of organizations. */
interface OwnerKind {
  path: '/user/quota' | '/orgs/{org}/quota'
  /** The first word of each `operationId`. */
  prefix: 'user' | 'org'
  /** Name of the owner in summaries. */
  title: string
  scope: 'read:user' | 'read:organization'
  responses: { 404?: typeof NotFound }
  /** @throws AllotError not_found, forbidden when the client may not see the owner's quota */
  find(tx: ReadTransaction, user: Identity, params: { org: string }, services: QuotaServices): Promise<Owner>
}

/** @returns the status of the owner that a request is about */
const statusFinder =
  (find: OwnerKind['find']) =>
  async (
    tx: ReadTransaction,
    { user, params }: { user: Identity; params: { org: string } },
    services: QuotaServices,
  ): Promise<QuotaStatus> =>
    services.quota.statuses.read(tx, (await find(tx, user, params, services)).id)

const statusRoutes = ({ path, prefix, title, scope, responses, find }: OwnerKind) => {
  const shared = { method: 'GET', auth: 'required', scope, tag: 'quota' } as const
  const cacheable = true
  const checked = { ...responses, 403: Forbidden, 422: ValidationError }
  const statusFor = statusFinder(find)
  return [
    route({
      ...{ ...shared, cacheable },
      path,
      operationId: `${prefix}GetQuota`,
      summary: `${capitalized(title)}'s usage, and the groups it is judged by`,
      responses: { ...responses, 403: Forbidden, 200: QuotaInfo },
      handle: (request, services) =>
        request.cached(async (tx) =>
          reply(200, presentStatus(await statusFor(tx, request, services), request.user.admin)),
        ),
    }),
    route({
      ...{ ...shared, cacheable },
      path: `${path}/check`,
      operationId: `${prefix}CheckQuota`,
      summary: `Whether ${title} is over quota for a subject`,
      query: SubjectQuery,
      responses: { ...checked, 200: v.boolean() },
      handle: (request, services) =>
        request.cached(async (tx) => {
          const status = await statusFor(tx, request, services)
          return reply(200, presentCheck(services, status, request.query.subject))
        }),
    }),
    route({
      ...{ ...shared, cacheable },
      path: `${path}/explain`,
      operationId: `${prefix}ExplainQuota`,
      summary: `Why ${title} is, or is not, over quota for a subject; without one, for the subject with the fewest bytes left`,
      query: AnySubjectQuery,
      responses: { ...checked, 200: QuotaExplanationInfo },
      handle: (request, services) =>
        request.cached(async (tx) => {
          const explanation = explanationOf(await statusFor(tx, request, services), request.query.subject)
          return reply(200, presentExplanation(explanation, request.user.admin))
        }),
    }),
    route({
      ...shared,
      path: `${path}/history`,
      operationId: `${prefix}GetQuotaHistory`,
      summary: `${capitalized(title)}'s usage at the end of each day on which it changed, for up to ${HISTORY_DAYS} days`,
      query: HistoryQuery,
      responses: { ...checked, 200: QuotaHistory },
      handle: async ({ user, params, query }, services) => {
        const { id } = await services.store.read((tx) => find(tx, user, params, services))
        return reply(200, presentHistory(await services.quota.history(id, query.days)))
      },
    }),
  ]
}

const usedListRoute = <T>(
  { path, prefix, title, scope, responses, find }: OwnerKind,
  kind: ListedKind,
  schema: v.GenericSchema<T>,
  present: (used: UsedEntry, urls: UsedListUrls) => T,
) =>
  route({
    method: 'GET',
    cacheable: true,
    path: `${path}/${kind}`,
    operationId: `${prefix}ListQuota${capitalized(kind)}`,
    tag: 'quota',
    summary: `The ${kind} that count toward ${title}'s quota`,
    auth: 'required',
    scope,
    paging: 'pages',
    responses: { ...responses, 403: Forbidden, 422: ValidationError, 200: v.array(schema) },
    handle: ({ user, params, apiUrl, baseUrl, htmlUrls, page, cached }, services) =>
      cached(async (tx) => {
        const { id, name } = await find(tx, user, params, services)
        const urls = { apiUrl, baseUrl, htmlUrls, owner: name }
        return replyPage(await services.hosting.usage.used(tx, user, id, kind, page), (used) =>
          present(used, urls),
        )
      }),
  })

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
  scope: 'read:user',
  responses: {},
  find: async (_tx, { id, username }) => ({ id, name: username }),
})

export const organizationQuotaRoutes = routesOf({
  path: '/orgs/{org}/quota',
  prefix: 'org',
  title: 'an organization',
  scope: 'read:organization',
  responses: { 404: NotFound },
  find: (tx, user, { org }, { owners }) => owners.findOrganization(tx, user, org),
})
