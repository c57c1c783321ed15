import { accountFormRoutes } from './admin/accounts.tsx'
import { auditPageRoutes } from './admin/audit.tsx'
import { groupRoutes } from './admin/groups.tsx'
import { adminRoutes } from './admin/overview.tsx'
import { ownerRoutes } from './admin/owners.tsx'
import { ruleRoutes } from './admin/rules.tsx'
import { accountPageRoutes } from './people/account.tsx'
import { avatarPageRoutes } from './people/avatar.tsx'
import { emailPageRoutes } from './people/emails.tsx'
import { keyPageRoutes } from './people/keys.tsx'
import { packagePageRoutes } from './people/packages.tsx'
import { passwordRoutes } from './people/password.tsx'
import { sessionRoutes } from './people/sessions.tsx'
import { setPasswordRoutes } from './people/set-password.tsx'
import { settingsPageRoutes } from './people/settings.tsx'
import { tokenRoutes } from './people/tokens.tsx'
import { commitPageRoutes } from './repository/commits.tsx'
import { filePageRoutes } from './repository/files.tsx'
import { homePageRoutes } from './repository/home.tsx'
import { issuePageRoutes } from './repository/issues.tsx'
import { refPageRoutes } from './repository/refs.tsx'
import { releasePageRoutes } from './repository/releases.tsx'
import { signInRoutes } from './session.tsx'
import { historyRoutes } from './storage/history.tsx'
import { itemRoutes } from './storage/items.tsx'
import { overviewRoutes } from './storage/overview.tsx'
import { removalRoutes } from './storage/removal.tsx'
import { repositoryRoutes } from './storage/repository.tsx'

/** Every page except {@link loginRoutes}; the specs that walk all pages use this list. */
export const pageRoutes = [
  ...overviewRoutes,
  ...itemRoutes,
  ...removalRoutes,
  ...historyRoutes,
  ...repositoryRoutes,
  ...tokenRoutes,
  ...avatarPageRoutes,
  ...settingsPageRoutes,
  ...emailPageRoutes,
  ...keyPageRoutes,
  ...adminRoutes,
  ...ownerRoutes,
  ...accountFormRoutes,
  ...auditPageRoutes,
  ...ruleRoutes,
  ...groupRoutes,
  ...accountPageRoutes,
  ...packagePageRoutes,
  ...homePageRoutes,
  ...filePageRoutes,
  ...commitPageRoutes,
  ...refPageRoutes,
  ...issuePageRoutes,
  ...releasePageRoutes,
]

/** Pages of passwords and sessions, which a host that signs users in does not have. */
export const loginRoutes = [...signInRoutes, ...setPasswordRoutes, ...passwordRoutes, ...sessionRoutes]
