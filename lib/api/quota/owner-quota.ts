/**
 * Usage and limits of one owner, of the signed-in user and of an organization for its owners, and what counts
 * toward them.
 */
import * as v from 'valibot'
import type { Identity } from '../../accounts/access.ts'
import { type Attached, pageOfEntry, type UsedEntry } from '../../content/usage/ledger-lists.ts'
import type { HtmlUrls } from '../../host-pages/html-urls.ts'
import { Forbidden, NotFound, SerializedJson, serializeOnce, ValidationError } from '../../http/index.ts'
import type { Owner } from '../../quota/owners.ts'
import type { ListedKind } from '../../quota/partitions.ts'
import type { QuotaStatus } from '../../quota/status.ts'
import type { Subject } from '../../quota/subjects.ts'
import { HISTORY_DAYS } from '../../quota/usage.ts'
import type { Page } from '../../records/pages.ts'
import type { LedgerRecord } from '../../records/schema/index.ts'
import { number, text } from '../fields.ts'
import { pageOf, reply } from '../route.ts'
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

// The memoized status is one object until it changes, so that its JSON is memoized with it.
const presentWithNames = serializeOnce((status: QuotaStatus) => presentStatus(status, true))
const presentWithoutNames = serializeOnce((status: QuotaStatus) => presentStatus(status, false))

/** @param withNames whether the names of groups and rules are sent: to administrators only */
export const statusJson = (status: QuotaStatus, withNames: boolean) =>
  withNames ? presentWithNames(status) : presentWithoutNames(status)

const [TRUE, FALSE] = [new SerializedJson<boolean>(true), new SerializedJson<boolean>(false)]

/** `true` when the owner is over quota; in the dialect of Forgejo `true` when the owner is within. */
const replyCheck = async ({ quota, dialect }: QuotaServices, owner: Owner, subject: Subject) => {
  const isOver = await quota.isOver(owner.id, subject)
  const answer = dialect === 'forgejo' ? !isOver : isOver
  return reply(200, answer ? TRUE : FALSE)
}

export const replyExplanation = async (
  { quota }: QuotaServices,
  owner: Owner,
  subject: Subject | undefined,
  withNames: boolean,
) => {
  const explanation = await quota.explain(owner.id, subject)
  return reply(200, presentExplanation(explanation, withNames))
}

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
  find(user: Identity, params: { org: string }, services: QuotaServices): Promise<Owner>
}

const statusRoutes = ({ path, prefix, title, scope, responses, find }: OwnerKind) => {
  const shared = { method: 'GET', auth: 'required', scope, tag: 'quota' } as const
  const checked = { ...responses, 403: Forbidden, 422: ValidationError }
  return [
    route({
      ...shared,
      path,
      operationId: `${prefix}GetQuota`,
      summary: `${capitalized(title)}'s usage, and the groups it is judged by`,
      responses: { ...responses, 403: Forbidden, 200: QuotaInfo },
      handle: async ({ user, params }, services) => {
        const owner = await find(user, params, services)
        return reply(200, statusJson(await services.quota.statuses.of(owner.id), user.admin))
      },
    }),
    route({
      ...shared,
      path: `${path}/check`,
      operationId: `${prefix}CheckQuota`,
      summary: `Whether ${title} is over quota for a subject`,
      query: SubjectQuery,
      responses: { ...checked, 200: v.boolean() },
      handle: async ({ user, params, query }, services) => {
        const owner = await find(user, params, services)
        return replyCheck(services, owner, query.subject)
      },
    }),
    route({
      ...shared,
      path: `${path}/explain`,
      operationId: `${prefix}ExplainQuota`,
      summary: `Why ${title} is, or is not, over quota for a subject; without one, for the subject with the fewest bytes left`,
      query: AnySubjectQuery,
      responses: { ...checked, 200: QuotaExplanationInfo },
      handle: async ({ user, params, query }, services) => {
        const owner = await find(user, params, services)
        return replyExplanation(services, owner, query.subject, user.admin)
      },
    }),
    route({
      ...shared,
      path: `${path}/history`,
      operationId: `${prefix}GetQuotaHistory`,
      summary: `${capitalized(title)}'s usage at the end of each day on which it changed, for up to ${HISTORY_DAYS} days`,
      query: HistoryQuery,
      responses: { ...checked, 200: QuotaHistory },
      handle: async ({ user, params, query }, services) => {
        const { id } = await find(user, params, services)
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
) => {
  const presentPage = serializeOnce(
    ({ items }: Page<UsedEntry>, urls: UsedListUrls) => items.map((used) => present(used, urls)),
    ({ apiUrl, owner }) => `${apiUrl} ${owner}`,
  )
  return route({
    method: 'GET',
    path: `${path}/${kind}`,
    operationId: `${prefix}ListQuota${capitalized(kind)}`,
    tag: 'quota',
    summary: `The ${kind} that count toward ${title}'s quota`,
    auth: 'required',
    scope,
    paging: 'pages',
    responses: { ...responses, 403: Forbidden, 422: ValidationError, 200: v.array(schema) },
    handle: async ({ user, params, apiUrl, baseUrl, htmlUrls, page }, services) => {
      const { id, name } = await find(user, params, services)
      const used = await services.hosting.usage.used(user, id, kind, page)
      return pageOf(presentPage(used, { apiUrl, baseUrl, htmlUrls, owner: name }), used.total)
    },
  })
}

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
  find: async ({ id, username }) => ({ id, name: username }),
})

export const organizationQuotaRoutes = routesOf({
  path: '/orgs/{org}/quota',
  prefix: 'org',
  title: 'an organization',
  scope: 'read:organization',
  responses: { 404: NotFound },
  find: (user, { org }, { owners }) => owners.findOrganization(user, org),
})
