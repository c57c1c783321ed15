import * as v from 'valibot'
import { Forbidden, ValidationError } from '../http/index.ts'
import type { ListedKind } from '../quota/ledger.ts'
import type { LedgerEntry } from '../records/schema.ts'
import {
  type EntryPlace,
  QuotaInfo,
  QuotaUsedArtifact,
  QuotaUsedAttachment,
  QuotaUsedPackage,
  quotaResource,
  usedArtifactResource,
  usedAttachmentResource,
  usedPackageResource,
} from '../resources/quota.ts'
import { pageOf, reply, route, type Services } from './declare.ts'
import type { Asked } from './pages.ts'
import { AskedSubject, subjectIn } from './subject.ts'

/** A page of what counts toward an owner, each entry with the names of where it belongs now. */
const usedPage = async <T>(
  { hosting, quota }: Services,
  { apiUrl, baseUrl, page }: Asked & { page: { offset: number; limit: number } },
  owner: { id: number; name: string },
  kind: ListedKind,
  resource: (entry: LedgerEntry, place: EntryPlace) => T,
) => {
  const { items, total } = await quota.used(owner.id, kind, page)
  const names = await hosting.repositories.namesOf(items.flatMap((entry) => entry.container ?? []))
  return pageOf(
    items.map((entry) => {
      const repository = entry.container === null ? undefined : names.get(entry.container)
      return resource(entry, { baseUrl, apiUrl, owner: owner.name, repository })
    }),
    total,
  )
}

export const quotaRoutes = [
  route({
    method: 'GET',
    path: '/user/quota',
    operationId: 'userGetQuota',
    tag: 'quota',
    summary: "The signed-in user's usage, and the groups it is judged by",
    auth: 'required',
    scope: 'read:user',
    responses: { 200: QuotaInfo, 403: Forbidden },
    handle: ({ user }, { quota }) => {
      const standing = quota.standing(user.id)
      return standing instanceof Promise
        ? standing.then((it) => reply(200, quotaResource(it, user.admin)))
        : reply(200, quotaResource(standing, user.admin))
    },
  }),
  route({
    method: 'GET',
    path: '/user/quota/check',
    operationId: 'userCheckQuota',
    tag: 'quota',
    summary: 'Whether the signed-in user is over quota for a subject',
    auth: 'required',
    scope: 'read:user',
    query: v.object({ subject: AskedSubject }),
    responses: { 200: v.boolean(), 403: Forbidden, 422: ValidationError },
    handle: ({ user, query }, { quota, dialect }) => {
      const answer = (over: boolean) => reply(200, dialect === 'forgejo' ? !over : over)
      const over = quota.isOver(user.id, subjectIn(dialect, query.subject, 'subject'))
      return over instanceof Promise ? over.then(answer) : answer(over)
    },
  }),
  route({
    method: 'GET',
    path: '/user/quota/attachments',
    operationId: 'userListQuotaAttachments',
    tag: 'quota',
    summary: "The attachments that count toward the signed-in user's quota",
    auth: 'required',
    scope: 'read:user',
    paging: 'strict',
    responses: { 200: v.array(QuotaUsedAttachment), 403: Forbidden },
    handle: (request, services) =>
      usedPage(services, request, ownerOf(request), 'attachments', usedAttachmentResource),
  }),
  route({
    method: 'GET',
    path: '/user/quota/packages',
    operationId: 'userListQuotaPackages',
    tag: 'quota',
    summary: "The packages that count toward the signed-in user's quota",
    auth: 'required',
    scope: 'read:user',
    paging: 'strict',
    responses: { 200: v.array(QuotaUsedPackage), 403: Forbidden },
    handle: (request, services) =>
      usedPage(services, request, ownerOf(request), 'packages', usedPackageResource),
  }),
  route({
    method: 'GET',
    path: '/user/quota/artifacts',
    operationId: 'userListQuotaArtifacts',
    tag: 'quota',
    summary: "The artifacts that count toward the signed-in user's quota",
    auth: 'required',
    scope: 'read:user',
    paging: 'strict',
    responses: { 200: v.array(QuotaUsedArtifact), 403: Forbidden },
    handle: (request, services) =>
      usedPage(services, request, ownerOf(request), 'artifacts', usedArtifactResource),
  }),
]

const ownerOf = ({ user }: { user: { id: number; username: string } }) => ({
  id: user.id,
  name: user.username,
})
