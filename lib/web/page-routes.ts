import { accountFormPageRoutes } from './admin/accounts.tsx'
import { auditPageRoutes } from './admin/audit.tsx'
import { groupPageRoutes } from './admin/groups.tsx'
import { adminPageRoutes } from './admin/overview.tsx'
import { ownerPageRoutes } from './admin/owners.tsx'
import { rulePageRoutes } from './admin/rules.tsx'
import type { PageRoute, PageServices } from './parts/route.ts'
import { accountPageRoutes } from './people/account.tsx'
import { keyPageRoutes } from './people/keys.tsx'
import { packagePageRoutes } from './people/packages.tsx'
import { passwordPageRoutes } from './people/password.tsx'
import { sessionPageRoutes } from './people/sessions.tsx'
import { setPasswordPageRoutes } from './people/set-password.tsx'
import { settingsPageRoutes } from './people/settings.tsx'
import { tokenPageRoutes } from './people/tokens.tsx'
import { attachmentPageRoutes } from './repository/attached-files.tsx'
import { commitPageRoutes } from './repository/commits.tsx'
import { filePageRoutes } from './repository/files.tsx'
import { historyPageRoutes } from './repository/history.tsx'
import { homePageRoutes } from './repository/home.tsx'
import { issuePageRoutes } from './repository/issue.tsx'
import { issueListPageRoutes } from './repository/issue-list.tsx'
import { refPageRoutes } from './repository/refs.tsx'
import { releasePageRoutes } from './repository/releases.tsx'
import { signInPageRoutes } from './session.tsx'
import { downloadPageRoutes } from './storage/downloads.tsx'
import { usageHistoryPageRoutes } from './storage/history.tsx'
import { itemPageRoutes } from './storage/items.tsx'
import { overviewPageRoutes } from './storage/overview.tsx'
import { removalPageRoutes } from './storage/removal.tsx'
import { repositoryPageRoutes } from './storage/repository.tsx'

/** Every page except {@link loginRoutes}; the specs that walk all pages use this list. */
export const pageRoutes = [
  ...overviewPageRoutes,
  ...itemPageRoutes,
  ...removalPageRoutes,
  ...downloadPageRoutes,
  ...usageHistoryPageRoutes,
  ...repositoryPageRoutes,
  ...tokenPageRoutes,
  ...settingsPageRoutes,
  ...keyPageRoutes,
  ...adminPageRoutes,
  ...ownerPageRoutes,
  ...accountFormPageRoutes,
  ...auditPageRoutes,
  ...rulePageRoutes,
  ...groupPageRoutes,
  ...accountPageRoutes,
  ...packagePageRoutes,
  ...homePageRoutes,
  ...filePageRoutes,
  ...historyPageRoutes,
  ...commitPageRoutes,
  ...refPageRoutes,
  ...issueListPageRoutes,
  ...issuePageRoutes,
  ...attachmentPageRoutes,
  ...releasePageRoutes,
]

/** Pages of passwords and sessions, which a host that signs users in does not have. */
export const loginRoutes = [
  ...signInPageRoutes,
  ...setPasswordPageRoutes,
  ...passwordPageRoutes,
  ...sessionPageRoutes,
]

/** The files of issues, comments and releases. */
const hasAttachments = (served: PageServices['settings']['servedPages']): boolean =>
  served.has('issue') || served.has('release')

const TOKEN_PAGES = /^\/-\/(?:account(?:\/|$)|admin\/account\/token$)/

/**
 * The routes that a service has: hosts have pages of people and repositories themselves, or a login.
 * @param requireSignIn whether visitors must sign in for all of them but those of the login
 */
export const pageRoutesFor = (
  {
    servedPages,
    hasSessions,
    hasTokens,
  }: Pick<PageServices['settings'], 'servedPages' | 'hasSessions' | 'hasTokens'>,
  requireSignIn: boolean,
): PageRoute[] => [
  ...pageRoutes
    .filter(({ kind }) => kind === undefined || servedPages.has(kind))
    .filter(({ path }) => hasTokens || !TOKEN_PAGES.test(path))
    .filter(({ path }) => hasAttachments(servedPages) || !attachmentPageRoutes.some((of) => of.path === path))
    .map((route) =>
      requireSignIn && route.auth === 'optional' ? { ...route, auth: 'required' as const } : route,
    ),
  ...(hasSessions ? loginRoutes : []),
]
