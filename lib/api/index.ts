import { adminUserRoutes } from './admin-users.ts'
import { downloadRoutes } from './content/attachment-downloads.ts'
import { attachmentRoutes } from './content/attachments.ts'
import { commentRoutes } from './content/comments.ts'
import { issueRoutes } from './content/issues.ts'
import { registryRoutes } from './content/package-registry.ts'
import { packageRoutes } from './content/packages.ts'
import { releaseRoutes } from './content/releases.ts'
import { followingRoutes } from './following.ts'
import { gitRoutes } from './git.ts'
import { gpgKeyRoutes } from './gpg-keys.ts'
import { lfsRoutes } from './lfs.ts'
import { markdownRoutes } from './markdown.ts'
import { organizationRoutes } from './organizations.ts'
import { ledgerRoutes } from './quota/ledger.ts'
import { ownerQuotaRoutes } from './quota/owner-quota.ts'
import { quotaPlanRoutes } from './quota/plans.ts'
import { quotaGroupRoutes, quotaRuleRoutes } from './quota/rules-and-groups.ts'
import { newRepositoryRoutes, repositoryRoutes } from './repositories.ts'
import { repositoryListRoutes } from './repository-lists.ts'
import { repositorySearchRoutes } from './repository-search.ts'
import { exportRoutes, serverRoutes } from './server.ts'
import { sshKeyRoutes } from './keys.ts'
import { starredRoutes } from './starred.ts'
import { subscriptionRoutes } from './subscriptions.ts'
import { tokenRoutes } from './tokens.ts'
import { userRoutes } from './users.ts'

const contentRoutes = [...issueRoutes, ...commentRoutes, ...releaseRoutes, ...attachmentRoutes]

/** Every JSON route, in the order of the API document. The router, the document and the specs are built from this list. */
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
