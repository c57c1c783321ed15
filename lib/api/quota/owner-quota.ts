import * as v from 'valibot'
import { Forbidden, ValidationError } from '../../http/index.ts'
import { route } from '../route.ts'
import {
  type Owner,
  replyArtifacts,
  replyAttachments,
  replyCheck,
  replyExplanation,
  replyInfo,
  replyPackages,
} from './replies.ts'
import {
  QuotaExplanationInfo,
  QuotaInfo,
  QuotaUsedArtifact,
  QuotaUsedAttachment,
  QuotaUsedPackage,
} from './schema.ts'
import { SubjectQuery } from './subject.ts'

/** "All operations act on the signed-in user." */
const own = { auth: 'required', scope: 'read:user', tag: 'quota', ofRecords: true } as const

const ownerIn = ({ user }: { user: { id: number; username: string } }): Owner => ({
  id: user.id,
  name: user.username,
})

export const quotaRoutes = [
  route({
    ...own,
    method: 'GET',
    path: '/user/quota',
    operationId: 'userGetQuota',
    summary: "The signed-in user's usage, and the groups it is judged by",
    responses: { 200: QuotaInfo, 403: Forbidden },
    handle: (request, services) => replyInfo(services, ownerIn(request), request.user.admin),
  }),
  route({
    ...own,
    method: 'GET',
    path: '/user/quota/check',
    operationId: 'userCheckQuota',
    summary: 'Whether the signed-in user is over quota for a subject',
    query: v.object({ subject: SubjectQuery }),
    responses: { 200: v.boolean(), 403: Forbidden, 422: ValidationError },
    handle: (request, services) => replyCheck(services, ownerIn(request), request.query.subject),
  }),
  route({
    ...own,
    method: 'GET',
    path: '/user/quota/explain',
    operationId: 'userExplainQuota',
    summary: 'Why the signed-in user is, or is not, over quota for a subject',
    query: v.object({ subject: SubjectQuery }),
    responses: { 200: QuotaExplanationInfo, 403: Forbidden, 422: ValidationError },
    handle: (request, services) =>
      replyExplanation(services, ownerIn(request), request.query.subject, request.user.admin),
  }),
  route({
    ...own,
    method: 'GET',
    path: '/user/quota/attachments',
    operationId: 'userListQuotaAttachments',
    summary: "The attachments that count toward the signed-in user's quota",
    paging: 'strict',
    responses: { 200: v.array(QuotaUsedAttachment), 403: Forbidden, 422: ValidationError },
    handle: (request, services) => replyAttachments(services, request, ownerIn(request)),
  }),
  route({
    ...own,
    method: 'GET',
    path: '/user/quota/packages',
    operationId: 'userListQuotaPackages',
    summary: "The packages that count toward the signed-in user's quota",
    paging: 'strict',
    responses: { 200: v.array(QuotaUsedPackage), 403: Forbidden, 422: ValidationError },
    handle: (request, services) => replyPackages(services, request, ownerIn(request)),
  }),
  route({
    ...own,
    method: 'GET',
    path: '/user/quota/artifacts',
    operationId: 'userListQuotaArtifacts',
    summary: "The artifacts that count toward the signed-in user's quota",
    paging: 'strict',
    responses: { 200: v.array(QuotaUsedArtifact), 403: Forbidden, 422: ValidationError },
    handle: (request, services) => replyArtifacts(services, request, ownerIn(request)),
  }),
]
