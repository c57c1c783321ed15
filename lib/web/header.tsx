/** The header of every page: the brand, the sections of the pages, and the menu of the user. */
import type { Identity } from '../accounts/access.ts'
import { Link, Post, usePageContext } from './parts/components.tsx'
import { Icon } from './parts/inline.tsx'
import { SET_PASSWORD } from './parts/password-link.ts'
import type { PageContext } from './parts/route.ts'
import { SIGN_IN, signInTo } from './session.tsx'
import type { IconName } from './styles/icons.ts'

/**
 * The section of a path. For administrators, the storage of others belongs to the administration, as the
 * trail above it says.
 */
const sectionOf = (path: string, { username, admin }: Identity): 'storage' | 'administration' | undefined => {
  if (path === '/' || path === `/-/storage/${username}` || path.startsWith(`/-/storage/${username}/`))
    return 'storage'
  if (/^\/-\/storage(?:\/|$)/.test(path)) return admin ? 'administration' : 'storage'
  return /^\/-\/admin(?:\/|$)/.test(path) ? 'administration' : undefined
}

/** Names are isolated, since their direction can differ from that of the header. */
export const Header = ({
  user,
  path,
  urlOf,
  servedPages,
  brand: { name, logo, backUrl, backText },
}: PageContext) => {
  const section = user === null ? undefined : sectionOf(path, user)
  return (
    <header>
      <a class="brand" href={urlOf('/')}>
        {logo === undefined ? <bdi>{name}</bdi> : <img src={logo} alt={name} />}
      </a>
      {backUrl !== undefined && (
        <a href={backUrl}>
          <bdi>{backText}</bdi>
        </a>
      )}
      {user !== null && (
        <nav aria-label="Pages">
          <Link to="/" isCurrent={section === 'storage'}>
            Storage
          </Link>
          {servedPages.has('user') && (
            <Link to={`/${user.username}`} currentBelow={[`/${user.username}`]}>
              Repositories
            </Link>
          )}
          {user.admin && (
            <Link to="/-/admin" isCurrent={section === 'administration'}>
              Administration
            </Link>
          )}
        </nav>
      )}
      {user === null ? <SignInLink /> : <UserMenu username={user.username} />}
    </header>
  )
}

const SignInLink = () => {
  const { path, search, hasSessions, loginUrl, urlOf } = usePageContext()
  // The query of a link that sets a password is a secret, which no other URL may contain.
  const own = urlOf(path === SET_PASSWORD ? SIGN_IN : signInTo(path, search))
  const to = hasSessions ? path !== SIGN_IN && own : loginUrl
  return to ? (
    <a class="account" href={to}>
      Sign in
    </a>
  ) : null
}

/** Pages that are in the menu, and in no other section. */
const MENU_PAGES = /^\/-\/(?:settings|account)(?:\/|$)/

const MenuItem = ({ to, icon, text }: { to: string; icon: IconName; text: string }) => (
  <li>
    <Link to={to} currentBelow={to.startsWith('/-/') ? [to] : []}>
      <Icon name={icon} />
      {text}
    </Link>
  </li>
)

/** What belongs to the user, in a list that opens without a script. */
const UserMenu = ({ username }: { username: string }) => {
  const { path, hasSessions, hasTokens, logoutUrl, servedPages } = usePageContext()
  return (
    <details class="choice account">
      <summary aria-current={MENU_PAGES.test(path) ? 'true' : undefined}>
        <Icon name="user" />
        <span class="hidden">Signed in as </span>
        <bdi>{username}</bdi>
      </summary>
      <div class="card">
        <ul class="plain">
          {servedPages.has('user') && <MenuItem to={`/${username}`} icon="user" text="Public profile" />}
          <MenuItem to="/-/settings" icon="settings" text="Settings" />
          {hasTokens && (
            <MenuItem to="/-/account" icon="token" text={hasSessions ? 'Tokens and sessions' : 'Tokens'} />
          )}
          {logoutUrl !== undefined && (
            <li>
              <a href={logoutUrl}>
                <Icon name="sign-out" />
                Sign out
              </a>
            </li>
          )}
        </ul>
        {hasSessions && (
          <Post to="/-/sign-out">
            <button type="submit">
              <Icon name="sign-out" />
              Sign out
            </button>
          </Post>
        )}
      </div>
    </details>
  )
}
