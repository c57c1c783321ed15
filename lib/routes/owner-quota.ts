import { ReadyJson, readyFor } from '../http/index.ts'
import type { ListedKind } from '../quota/ledger.ts'
import type { Standing } from '../quota/standing.ts'
import type { LedgerEntry } from '../records/schema.ts'
import {
  type EntryPlace,
  explanationResource,
  quotaResource,
  usedArtifactResource,
  usedAttachmentResource,
  usedPackageResource,
} from '../resources/quota.ts'
import { pageOf, reply, type Services } from './declare.ts'
import type { Asked } from './pages.ts'
import { type AskedSubject, subjectIn } from './subject.ts'

/** Whose quota is asked for: the signed-in user, an organization, or anyone an administrator names. */
export interface Owner {
  id: number
  name: string
}

/** @param named whether the names of groups and rules are shown, which they are to administrators only. */
export const replyInfo = ({ quota }: Services, owner: Owner, named: boolean) => {
  const standing = quota.standing(owner.id)
  const resource = named ? namedQuota : plainQuota
  return standing instanceof Promise
    ? standing.then((it) => reply(200, resource(it)))
    : reply(200, resource(standing))
}

/** A standing is the same object while it is what it is. */
const plainQuota = readyFor((standing: Standing) => quotaResource(standing, false))
const namedQuota = readyFor((standing: Standing) => quotaResource(standing, true))

export const replyCheck = ({ quota, dialect }: Services, owner: Owner, subject: AskedSubject) => {
  const answer = (over: boolean) => reply(200, (dialect === 'forgejo' ? !over : over) ? YES : NO)
  const over = quota.isOver(owner.id, subjectIn(dialect, subject, 'subject'))
  return over instanceof Promise ? over.then(answer) : answer(over)
}

const [YES, NO] = [new ReadyJson<boolean>(true), new ReadyJson<boolean>(false)]

export const replyExplanation = async (
  { quota, dialect }: Services,
  owner: Owner,
  subject: AskedSubject,
  named: boolean,
) => {
  const explained = await quota.explain(owner.id, subjectIn(dialect, subject, 'subject'))
  return reply(200, explanationResource(explained, named))
}

type Paged = Asked & { page: { offset: number; limit: number } }

/** A page of what counts toward an owner, each entry with the names of where it belongs now. */
const replyUsed =
  <T>(kind: ListedKind, resource: (entry: LedgerEntry, place: EntryPlace) => T) =>
  async ({ hosting }: Services, { apiUrl, baseUrl, page }: Paged, owner: Owner) => {
    const { items, total } = await hosting.usage.used(owner.id, kind, page)
    return pageOf(
      items.map(({ entry, repository, attached }) =>
        resource(entry, { baseUrl, apiUrl, owner: owner.name, repository, attached }),
      ),
      total,
    )
  }

export const replyAttachments = replyUsed('attachments', usedAttachmentResource)
export const replyPackages = replyUsed('packages', usedPackageResource)
export const replyArtifacts = replyUsed('artifacts', usedArtifactResource)
