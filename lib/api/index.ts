import { adminUserRoutes } from './admin-users.ts'
import { attachmentRoutes } from './content/attachments.ts'
import { commentRoutes } from './content/comments.ts'
import { downloadRoutes } from './content/downloads.ts'
import { issueRoutes } from './content/issues.ts'
import { registryRoutes } from './content/package-registry.ts'
import { packageRoutes } from './content/packages.ts'
import { releaseRoutes } from './content/releases.ts'
import { exportRoutes } from './export.ts'
import { followingRoutes } from './following.ts'
import { gitRoutes } from './git.ts'
import { gpgKeyRoutes } from './gpg-keys.ts'
import { lfsRoutes } from './lfs.ts'
import { markdownRoutes } from './markdown.ts'
import { organizationRoutes } from './organizations.ts'
import { quotaGroupRoutes } from './quota/groups.ts'
import { ledgerRoutes } from './quota/ledger.ts'
import { organizationQuotaRoutes } from './quota/organization-quota.ts'
import { quotaRoutes } from './quota/owner-quota.ts'
import { quotaPlanRoutes } from './quota/plans.ts'
import { quotaRuleRoutes } from './quota/rules.ts'
import { referenceRoutes } from './reference.ts'
import { repositoryRoutes } from './repositories.ts'
import { versionRoutes } from './server.ts'
import { settingsRoutes } from './settings.ts'
import { sshKeyRoutes } from './ssh-keys.ts'
import { starredRoutes } from './starred.ts'
import { subscriptionRoutes } from './subscriptions.ts'
import { tokenRoutes } from './tokens.ts'
import { userRoutes } from './users.ts'

const contentRoutes = [...issueRoutes, ...commentRoutes, ...releaseRoutes, ...attachmentRoutes]

/** The whole API: the router, the OpenAPI document and the specs that walk all routes are made from this list. */
export const routes = [
  ...markdownRoutes,
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
  ...versionRoutes,
  ...settingsRoutes,
  ...referenceRoutes,
  ...quotaRoutes,
  ...organizationQuotaRoutes,
  ...quotaRuleRoutes,
  ...quotaGroupRoutes,
  ...quotaPlanRoutes,
  ...ledgerRoutes,
  ...adminUserRoutes,
  ...exportRoutes,
  ...packageRoutes,
]

/** What is served: a host may keep issues and releases itself, and packages. */
export const routesWith = (options: { issues: boolean; packages: unknown }): typeof routes =>
  routes.filter(
    (route) =>
      (options.issues || !contentRoutes.includes(route)) &&
      (options.packages !== false || !packageRoutes.includes(route)),
  )

/** What is served beside the API, as far as the host does not keep it itself. */
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
