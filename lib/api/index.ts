import { openApiDocument } from '../http/index.ts'
import { VERSION } from '../version.ts'
import { Attachment, attachmentRoutes, downloadRoutes } from './content/attachments.ts'
import { Comment, commentRoutes } from './content/comments.ts'
import { Issue, issueRoutes } from './content/issues.ts'
import { packageRoutes, registryRoutes } from './content/packages.ts'
import { Release, releaseRoutes } from './content/releases.ts'
import { followingRoutes } from './following.ts'
import { gitRoutes } from './git.ts'
import { GPGKey, GPGKeyEmail, gpgKeyRoutes, PublicKey, sshKeyRoutes } from './keys.ts'
import { lfsRoutes } from './lfs.ts'
import { Organization, organizationRoutes } from './organizations.ts'
import { ledgerRoutes } from './quota/ledger.ts'
import {
  ownerQuotaRoutes,
  QuotaUsedArtifact,
  QuotaUsedAttachment,
  QuotaUsedPackage,
} from './quota/owner-quota.ts'
import { quotaPlanRoutes } from './quota/plans.ts'
import { quotaGroupRoutes, quotaRuleRoutes } from './quota/rules-and-groups.ts'
import {
  QuotaExplanationInfo,
  QuotaGroupInfo,
  QuotaHistoryDay,
  QuotaInfo,
  QuotaRuleInfo,
} from './quota/schema.ts'
import { starredRoutes, subscriptionRoutes, WatchInfo } from './relations.ts'
import { newRepositoryRoutes, repositoryRoutes } from './repositories.ts'
import { repositoryListRoutes, repositorySearchRoutes } from './repository-lists.ts'
import { Permission, Repository } from './repository-presenter.ts'
import { exportRoutes, markdownRoutes, serverRoutes } from './server.ts'
import { AccessToken, tokenRoutes } from './tokens.ts'
import { adminUserRoutes, User, userRoutes } from './users.ts'

const contentRoutes = [...issueRoutes, ...commentRoutes, ...releaseRoutes, ...attachmentRoutes]

/** Every JSON route, in the order of the API document (docs/api.md). The router, the OpenAPI document and the specs are built from this list. */
export const routes = [
  ...markdownRoutes,
  ...newRepositoryRoutes,
  ...repositoryListRoutes,
  ...repositorySearchRoutes,
  ...repositoryRoutes,
  ...subscriptionRoutes,
  ...contentRoutes,
  ...userRoutes,
  ...followingRoutes,
  ...starredRoutes,
  ...sshKeyRoutes,
  ...gpgKeyRoutes,
  ...tokenRoutes,
  ...organizationRoutes,
  ...serverRoutes,
  ...ownerQuotaRoutes,
  ...quotaRuleRoutes,
  ...quotaGroupRoutes,
  ...quotaPlanRoutes,
  ...ledgerRoutes,
  ...adminUserRoutes,
  ...exportRoutes,
  ...packageRoutes,
]

/** The routes that a service has: a host may turn issues and releases off, and packages. */
export const routesWith = (options: { issues: boolean; packages: unknown }): typeof routes =>
  routes.filter(
    (route) =>
      (options.issues || !contentRoutes.includes(route)) &&
      (options.packages !== false || !packageRoutes.includes(route)),
  )

/** The routes outside of the API whose replies are streams: git, Git LFS, packages, attachments. */
export const streamRoutesFor = (served: {
  git: boolean
  lfs: boolean
  packages: boolean
  issues: boolean
}) => [
  ...(served.git ? gitRoutes : []),
  ...(served.lfs ? lfsRoutes : []),
  ...(served.packages ? registryRoutes : []),
  ...(served.issues ? downloadRoutes : []),
]

/** The schemas that the document defines once and refers to by name. */
const definitions = {
  User,
  Repository,
  Permission,
  GPGKey,
  GPGKeyEmail,
  PublicKey,
  AccessToken,
  WatchInfo,
  Organization,
  Issue,
  Comment,
  Release,
  Attachment,
  QuotaInfo,
  QuotaRuleInfo,
  QuotaGroup: QuotaGroupInfo,
  QuotaExplanation: QuotaExplanationInfo,
  QuotaHistoryDay,
  QuotaUsedAttachment,
  QuotaUsedPackage,
  QuotaUsedArtifact,
}

/** "The interface description carries version 1.1.1." */
const INTERFACE_VERSION = '1.1.1'

/** The API as an OpenAPI 3.1 document. @param apiUrl of the service @param served every route when absent */
export const apiDocument = (apiUrl: string, serverVersion: string, served = routes) =>
  openApiDocument(served, apiUrl, { title: 'Allot', version: INTERFACE_VERSION, serverVersion, definitions })

/** The document with the URL of a request. It is created by the first request for it: most servers never get one. */
export const documentOf = (served: typeof routes) => {
  let document: { openapi: string } | undefined
  return (apiUrl: string): { openapi: string } => {
    document ??= apiDocument(apiUrl, VERSION, served) as { openapi: string }
    return { ...document, servers: [{ url: apiUrl }] } as { openapi: string }
  }
}
