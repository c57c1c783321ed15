import { adminUserRoutes } from './admin-users.ts'
import { attachmentRoutes } from './attachments.ts'
import { commentRoutes } from './comments.ts'
import { downloadRoutes } from './downloads.ts'
import { exportRoutes } from './export.ts'
import { followingRoutes } from './following.ts'
import { registryRoutes } from './generic-packages.ts'
import { gitRoutes } from './git.ts'
import { gpgKeyRoutes } from './gpg-keys.ts'
import { issueRoutes } from './issues.ts'
import { ledgerRoutes } from './ledger.ts'
import { lfsRoutes } from './lfs.ts'
import { markdownRoutes } from './markdown.ts'
import { organizationQuotaRoutes } from './organization-quota.ts'
import { organizationRoutes } from './organizations.ts'
import { packageRoutes } from './packages.ts'
import { quotaRoutes } from './quota.ts'
import { quotaGroupRoutes } from './quota-groups.ts'
import { quotaPlanRoutes } from './quota-plans.ts'
import { quotaRuleRoutes } from './quota-rules.ts'
import { referenceRoutes } from './reference.ts'
import { releaseRoutes } from './releases.ts'
import { repositoryRoutes } from './repositories.ts'
import { settingsRoutes } from './settings.ts'
import { sshKeyRoutes } from './ssh-keys.ts'
import { starredRoutes } from './starred.ts'
import { subscriptionRoutes } from './subscriptions.ts'
import { tokenRoutes } from './tokens.ts'
import { userRoutes } from './users.ts'
import { versionRoutes } from './version.ts'

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
