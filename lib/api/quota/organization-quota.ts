import * as v from 'valibot'
import type { Identity } from '../../accounts/identity.ts'
import { AllotError } from '../../errors.ts'
import { Forbidden, NotFound, ValidationError } from '../../http/index.ts'
import { organizationNamed } from '../resolve-account.ts'
import { reply, route, type Services } from '../route.ts'
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

const ofOwners = { auth: 'required', scope: 'read:organization', tag: 'quota', ofRecords: true } as const

/** The organization, for its owners and for administrators. */
const owned = async (services: Services, user: Identity, name: string): Promise<Owner | undefined> => {
  const organization = await organizationNamed(services, user, name)
  if (organization === undefined || user.admin) return organization
  if (!(await services.hosting.organizations.isOwner(organization.id, user.id)))
    throw new AllotError('forbidden', 'Must be an organization owner')
  return organization
}

export const organizationQuotaRoutes = [
  route({
    ...ofOwners,
    method: 'GET',
    path: '/orgs/{org}/quota',
    operationId: 'orgGetQuota',
    summary: "An organization's usage, and the groups it is judged by",
    responses: { 200: QuotaInfo, 403: Forbidden, 404: NotFound },
    handle: async ({ user, params }, services) => {
      const owner = await owned(services, user, params.org)
      return owner === undefined ? reply(404) : replyInfo(services, owner, user.admin)
    },
  }),
  route({
    ...ofOwners,
    method: 'GET',
    path: '/orgs/{org}/quota/check',
    operationId: 'orgCheckQuota',
    summary: 'Whether an organization is over quota for a subject',
    query: v.object({ subject: SubjectQuery }),
    responses: { 200: v.boolean(), 403: Forbidden, 404: NotFound, 422: ValidationError },
    handle: async ({ user, params, query }, services) => {
      const owner = await owned(services, user, params.org)
      return owner === undefined ? reply(404) : replyCheck(services, owner, query.subject)
    },
  }),
  route({
    ...ofOwners,
    method: 'GET',
    path: '/orgs/{org}/quota/explain',
    operationId: 'orgExplainQuota',
    summary: 'Why an organization is, or is not, over quota for a subject',
    query: v.object({ subject: SubjectQuery }),
    responses: { 200: QuotaExplanationInfo, 403: Forbidden, 404: NotFound, 422: ValidationError },
    handle: async ({ user, params, query }, services) => {
      const owner = await owned(services, user, params.org)
      return owner === undefined ? reply(404) : replyExplanation(services, owner, query.subject, user.admin)
    },
  }),
  route({
    ...ofOwners,
    method: 'GET',
    path: '/orgs/{org}/quota/attachments',
    operationId: 'orgListQuotaAttachments',
    summary: "The attachments that count toward an organization's quota",
    paging: 'strict',
    responses: { 200: v.array(QuotaUsedAttachment), 403: Forbidden, 404: NotFound, 422: ValidationError },
    handle: async (request, services) => {
      const owner = await owned(services, request.user, request.params.org)
      return owner === undefined ? reply(404) : replyAttachments(services, request, owner)
    },
  }),
  route({
    ...ofOwners,
    method: 'GET',
    path: '/orgs/{org}/quota/packages',
    operationId: 'orgListQuotaPackages',
    summary: "The packages that count toward an organization's quota",
    paging: 'strict',
    responses: { 200: v.array(QuotaUsedPackage), 403: Forbidden, 404: NotFound, 422: ValidationError },
    handle: async (request, services) => {
      const owner = await owned(services, request.user, request.params.org)
      return owner === undefined ? reply(404) : replyPackages(services, request, owner)
    },
  }),
  route({
    ...ofOwners,
    method: 'GET',
    path: '/orgs/{org}/quota/artifacts',
    operationId: 'orgListQuotaArtifacts',
    summary: "The artifacts that count toward an organization's quota",
    paging: 'strict',
    responses: { 200: v.array(QuotaUsedArtifact), 403: Forbidden, 404: NotFound, 422: ValidationError },
    handle: async (request, services) => {
      const owner = await owned(services, request.user, request.params.org)
      return owner === undefined ? reply(404) : replyArtifacts(services, request, owner)
    },
  }),
]
