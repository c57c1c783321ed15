import type { Identity } from '../accounts/access.ts'
import type { Route } from '../http/index.ts'
import type { Options } from '../options/index.ts'
import { avatarRoutes } from './avatars.ts'
import { attachmentRoutes, downloadRoutes } from './content/attachments.ts'
import { commentRoutes } from './content/comments.ts'
import { issueRoutes } from './content/issues.ts'
import { packageRoutes } from './content/packages.ts'
import { registryRoutes } from './content/registries.ts'
import { releaseRoutes } from './content/releases.ts'
import { issueSubscriptionRoutes } from './content/subscriptions.ts'
import { followingRoutes } from './following.ts'
import { inForgejoDialect } from './forgejo-dialect.ts'
import { forkRoutes } from './forks.ts'
import { branchRoutes } from './git/branches.ts'
import { commitRoutes, compareRoutes } from './git/commits.ts'
import { archiveRoutes, downloadFileRoutes } from './git/downloads.ts'
import { fileChangeRoutes } from './git/file-changes.ts'
import { fileRoutes } from './git/files.ts'
import { lfsRoutes } from './git/lfs.ts'
import { gitRoutes } from './git/protocol.ts'
import { branchChangeRoutes, tagChangeRoutes } from './git/ref-changes.ts'
import { refRoutes } from './git/refs.ts'
import { statusRoutes } from './git/statuses.ts'
import { tagRoutes } from './git/tags.ts'
import { gpgKeyRoutes, sshKeyRoutes } from './keys.ts'
import { organizationRoutes } from './organizations.ts'
import { settingsRoutes } from './profile.ts'
import { auditRoutes } from './quota/audit.ts'
import { largestRepositoryRoutes } from './quota/largest-repositories.ts'
import { ledgerRoutes } from './quota/ledger.ts'
import { organizationQuotaRoutes, userQuotaRoutes } from './quota/owner-quota.ts'
import { quotaPlanRoutes } from './quota/plans.ts'
import { quotaGroupRoutes, quotaRuleRoutes } from './quota/rules-and-groups.ts'
import type { QuotaServices } from './quota/services.ts'
import { relatedUserRoutes, starredRoutes, subscriptionRoutes } from './relations.ts'
import { cleanUpRoutes, newRepositoryRoutes, repositoryRoutes } from './repositories.ts'
import { repositoryListRoutes, repositorySearchRoutes } from './repository-lists.ts'
import type { Services } from './route.ts'
import { documentRoute, exportRoutes, markdownRoutes, serverRoutes } from './server.ts'
import { collaboratorRoutes } from './sharing/collaborators.ts'
import { membershipRoutes } from './sharing/memberships.ts'
import { repositoryTeamRoutes, teamRepositoryRoutes } from './sharing/team-repositories.ts'
import { teamMemberRoutes, teamRoutes } from './sharing/teams.ts'
import { transferRoutes } from './sharing/transfers.ts'
import { tokenRoutes } from './tokens.ts'
import { topicRoutes } from './topics.ts'
import { adminUserRoutes, userRoutes } from './users.ts'
import { hookRoutes } from './webhooks/routes.ts'

type ApiRoute = Route<Identity, Services & QuotaServices>

const contentRoutes: ApiRoute[] = [
  ...issueRoutes,
  ...commentRoutes,
  ...issueSubscriptionRoutes,
  ...releaseRoutes,
  ...attachmentRoutes,
]

const gitContentRoutes: ApiRoute[] = [
  ...branchRoutes,
  ...tagRoutes,
  ...refRoutes,
  ...commitRoutes,
  ...fileRoutes,
  ...downloadFileRoutes,
  ...compareRoutes,
  ...branchChangeRoutes,
  ...tagChangeRoutes,
  ...fileChangeRoutes,
]

/** Routes of collaborators and of teams. */
const sharingRoutes: ApiRoute[] = [
  ...collaboratorRoutes,
  ...repositoryTeamRoutes,
  ...teamRoutes,
  ...teamMemberRoutes,
  ...teamRepositoryRoutes,
]

/** Every JSON route. The router, the OpenAPI document and the specs are built from this list. */
export const routes: ApiRoute[] = [
  ...markdownRoutes,
  ...newRepositoryRoutes,
  ...repositoryListRoutes,
  ...repositorySearchRoutes,
  ...repositoryRoutes,
  ...cleanUpRoutes,
  ...transferRoutes,
  ...forkRoutes,
  ...topicRoutes,
  ...gitContentRoutes,
  ...statusRoutes,
  ...subscriptionRoutes,
  ...relatedUserRoutes,
  ...contentRoutes,
  ...userRoutes,
  ...settingsRoutes,
  ...followingRoutes,
  ...starredRoutes,
  ...sshKeyRoutes,
  ...gpgKeyRoutes,
  ...tokenRoutes,
  ...organizationRoutes,
  ...membershipRoutes,
  ...sharingRoutes,
  ...serverRoutes,
  documentRoute,
  ...userQuotaRoutes,
  ...organizationQuotaRoutes,
  ...quotaRuleRoutes,
  ...quotaGroupRoutes,
  ...quotaPlanRoutes,
  ...auditRoutes,
  ...largestRepositoryRoutes,
  ...ledgerRoutes,
  ...hookRoutes,
  ...adminUserRoutes,
  ...exportRoutes,
  ...packageRoutes,
]

/** The routes of a service that has the quota only. */
export const quotaRoutes: Route<Identity, QuotaServices>[] = [
  ...userQuotaRoutes,
  ...quotaRuleRoutes,
  ...quotaGroupRoutes,
  ...quotaPlanRoutes,
  ...auditRoutes,
  ...ledgerRoutes,
  documentRoute,
]

/** The routes that create repositories, and those that create organizations, by their `operationId`. */
const CREATION = {
  repositoryCreators: ['createCurrentUserRepo', 'createOrgRepo', 'createOrgRepoDeprecated', 'createFork'],
  organizationCreators: ['orgCreate'],
} as const

type AccessOptions = { requireSignIn: boolean } & Record<keyof typeof CREATION, 'users' | 'administrators'>

/** A route with the login and the rights that the options ask for. */
const withAccess = (route: ApiRoute, options: AccessOptions): ApiRoute => {
  const isRestricted = (['repositoryCreators', 'organizationCreators'] as const).some(
    (by) => options[by] === 'administrators' && CREATION[by].some((id) => id === route.operationId),
  )
  if (isRestricted) return { ...route, auth: 'admin' }
  const isClosed = options.requireSignIn && route.auth === 'optional' && route !== documentRoute
  return isClosed ? { ...route, auth: 'required' } : route
}

/**
 * The routes that a service has: a host may turn tokens off, issues and releases, contents of repositories,
 * sharing, forks, packages, and webhooks.
 */
export const routesWith = (
  options: AccessOptions & {
    tokens: boolean
    issues: boolean
    statuses: boolean
    sharing: boolean
    forks: boolean
    packages: unknown
    webhooks: unknown
    contents: unknown
    repositories: unknown
    dialect: Options['dialect']
  },
): typeof routes => {
  const hasGitData = options.repositories !== false
  const hasContents = hasGitData && options.contents !== false
  const excluded = new Set<ApiRoute>([
    ...(options.tokens ? [] : tokenRoutes),
    ...(options.issues ? [] : contentRoutes),
    ...(hasContents ? [] : gitContentRoutes),
    ...(hasContents && options.statuses ? [] : statusRoutes),
    ...(options.sharing ? [] : sharingRoutes),
    ...(hasGitData && options.forks ? [] : forkRoutes),
    ...(hasGitData ? [] : cleanUpRoutes),
    ...(options.packages !== false ? [] : packageRoutes),
    ...(options.webhooks !== false ? [] : hookRoutes),
  ])
  const served = routes.filter((route) => !excluded.has(route)).map((route) => withAccess(route, options))
  return options.dialect === 'forgejo' ? served.map(inForgejoDialect) : served
}

/**
 * The routes outside of the API whose replies are streams: git, archives, Git LFS, packages, attachments,
 * avatars.
 */
export const streamRoutesFor = (served: {
  git: boolean
  contents: boolean
  lfs: boolean
  packages: boolean
  issues: boolean
}) => [
  ...(served.git ? gitRoutes : []),
  ...(served.contents ? archiveRoutes : []),
  ...(served.lfs ? lfsRoutes : []),
  ...(served.packages ? registryRoutes : []),
  ...(served.issues ? downloadRoutes : []),
  ...avatarRoutes,
]
