/**
 * Usage and limits of one owner, of the signed-in user and of an organization for its owners, and what counts
 * toward them.
 */
import * as v from 'valibot'
import type { Identity } from '../../accounts/access.ts'
import { type Attached, pageOfEntry, type UsedEntry } from '../../content/usage/ledger-lists.ts'
import type { ListedKind } from '../../quota/ledger.ts'
import type { Owner } from '../../quota/owners.ts'
import { explanationOf, isOver, type QuotaStatus } from '../../quota/status.ts'
import type { Subject } from '../../quota/subjects.ts'
import { HISTORY_DAYS } from '../../quota/usage.ts'
import type { LedgerRecord } from '../../records/schema/index.ts'
import type { ReadTransaction } from '../../storage/index.ts'
import { link, number, text } from '../fields.ts'
import { type Recipient, resource, type View } from '../view.ts'
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

type Used = UsedEntry & {
  /** Name of the owner. */
  readonly owner: string
}

const pageOf = (used: Used, { baseUrl, htmlUrls }: Recipient): string => {
  const page = used.isHidden ? undefined : pageOfEntry(used, used.owner)
  return (page && htmlUrls.of(page, baseUrl)) ?? ''
}

/** URL of what an attachment is attached to. */
const targetOf = ({ entry, repository, attached, isHidden, owner }: Used, { apiUrl }: Recipient): string => {
  if (isHidden || repository === undefined) return ''
  const path = attached === undefined ? externalPath(entry) : targetPath(attached)
  return `${apiUrl}/repos/${owner}/${repository}/${path}`
}

const attachment = resource<Used>()({
  name: [text('log.txt'), ({ entry }) => entry.name],
  size: [number(2048), ({ entry }) => entry.size],
  api_url: [
    link('/api/v1/repos/alice/app/issues/1/assets/11'),
    (used, to) => {
      const target = targetOf(used, to)
      return target && `${target}/assets/${used.attached?.id ?? encodeURIComponent(used.entry.key)}`
    },
  ],
  contained_in: [
    v.object({
      api_url: link('/api/v1/repos/alice/app/issues/1'),
      html_url: link('/alice/app/issues/1'),
    }),
    (used, to) => ({ api_url: targetOf(used, to), html_url: targetOf(used, to) && pageOf(used, to) }),
  ],
})
export const QuotaUsedAttachment = attachment.schema

const packageView = resource<Used>()({
  name: [text('tool'), ({ entry }) => entry.name],
  type: [text('generic'), ({ entry }) => entry.type ?? ''],
  version: [text('1.0.0'), ({ entry }) => entry.version ?? ''],
  size: [number(5), ({ entry }) => entry.size],
  html_url: [link('/alice/-/packages/generic/tool/1.0.0'), pageOf],
})
export const QuotaUsedPackage = packageView.schema

const artifact = resource<Used>()({
  name: [text('log'), ({ entry }) => entry.name],
  size: [number(1500), ({ entry }) => entry.size],
  html_url: [link('/alice/app/actions/runs/1'), pageOf],
})
export const QuotaUsedArtifact = artifact.schema

/** Path of the target of an attachment, below that of its repository in the API. */
const targetPath = ({ on, targetId }: Attached): string =>
  `${on === 'comment' ? 'issues/comments' : `${on}s`}/${targetId}`

/** The same for an attachment of the host, with the host's own number of the issue or the release. */
const externalPath = ({ on, index }: LedgerRecord): string =>
  `${on === 'issue' ? 'issues' : 'releases'}/${index ?? 0}`

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

const usedListRoute = (
  { path, prefix, title, scope, find }: OwnerKind,
  kind: ListedKind,
  of: View<v.GenericSchema, Used>,
) =>
  quotaAt(path, { tag: 'quota', scope, reads: 'required' }).list(
    `${prefix}ListQuota${capitalized(kind)}`,
    `/${kind}`,
    {
      summary: `The ${kind} that count toward ${title}'s quota`,
      cached: true,
      of,
      run: async ({ user, params, page }, services, tx) => {
        const { id, name: owner } = await find(tx, user, params, services)
        const { items, total } = await services.hosting.usage.used(tx, user, id, kind, page)
        return { items: items.map((used) => ({ ...used, owner })), total }
      },
    },
  )

const capitalized = (text: string): string => text.replace(/^./, (first) => first.toUpperCase())

const routesOf = (kind: OwnerKind) => [
  ...statusRoutes(kind),
  usedListRoute(kind, 'attachments', attachment),
  usedListRoute(kind, 'packages', packageView),
  usedListRoute(kind, 'artifacts', artifact),
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
