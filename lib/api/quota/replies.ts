import type { Page } from '../../accounts/visible-page.ts'
import type { UsedEntry } from '../../content/usage-lists.ts'
import { SerializedJson, serializeOnce } from '../../http/index.ts'
import type { ListedKind } from '../../quota/ledger.ts'
import type { QuotaStatus } from '../../quota/status.ts'
import type { LedgerEntry } from '../../records/schema/index.ts'
import type { ListRequest } from '../list-response.ts'
import { pageOf, reply, type Services } from '../route.ts'
import {
  type EntryPlace,
  explanationResource,
  quotaResource,
  usedArtifactResource,
  usedAttachmentResource,
  usedPackageResource,
} from './schema.ts'
import { type SubjectQuery, subjectIn } from './subject.ts'

/** Whose quota is asked for: the signed-in user, an organization, or anyone an administrator names. */
export interface Owner {
  id: number
  name: string
}

/** @param named whether the names of groups and rules are shown, which they are to administrators only. */
export const replyInfo = async ({ quota }: Services, owner: Owner, named: boolean) => {
  const status = await quota.status(owner.id)
  return reply(200, (named ? namedQuota : plainQuota)(status))
}

/** The memoized status is one object until it changes, so that its JSON is memoized with it. */
const plainQuota = serializeOnce((status: QuotaStatus) => quotaResource(status, false))
const namedQuota = serializeOnce((status: QuotaStatus) => quotaResource(status, true))

export const replyCheck = async ({ quota, dialect }: Services, owner: Owner, subject: SubjectQuery) => {
  const over = await quota.isOver(owner.id, subjectIn(dialect, subject, 'subject'))
  return reply(200, (dialect === 'forgejo' ? !over : over) ? YES : NO)
}

const [YES, NO] = [new SerializedJson<boolean>(true), new SerializedJson<boolean>(false)]

export const replyExplanation = async (
  { quota, dialect }: Services,
  owner: Owner,
  subject: SubjectQuery,
  named: boolean,
) => {
  const explained = await quota.explain(owner.id, subjectIn(dialect, subject, 'subject'))
  return reply(200, explanationResource(explained, named))
}

type Paged = ListRequest & { page: { offset: number; limit: number } }

/** A page of what counts toward an owner, each entry with the names of where it belongs now. */
const replyUsed = <T>(kind: ListedKind, resource: (entry: LedgerEntry, place: EntryPlace) => T) => {
  const ready = serializeOnce(
    ({ items }: Page<UsedEntry>, place: Whereabouts) =>
      items.map(({ entry, ...where }) => resource(entry, { ...place, ...where })),
    ({ apiUrl, owner }) => `${apiUrl} ${owner}`,
  )
  return async ({ hosting }: Services, { user, apiUrl, baseUrl, page }: Paged, owner: Owner) => {
    const used = await hosting.usage.used(user, owner.id, kind, page)
    return pageOf(ready(used, { apiUrl, baseUrl, owner: owner.name }), used.total)
  }
}
/** What the links of all entries of a page begin with. */
type Whereabouts = Pick<EntryPlace, 'apiUrl' | 'baseUrl' | 'owner'>

export const replyAttachments = replyUsed('attachments', usedAttachmentResource)
export const replyPackages = replyUsed('packages', usedPackageResource)
export const replyArtifacts = replyUsed('artifacts', usedArtifactResource)
