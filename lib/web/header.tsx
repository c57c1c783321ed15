/** @jsxRuntime automatic @jsxImportSource preact */
/** The header of every page: the brand, the sections of the pages, and the menu of the user. */
import { SET_PASSWORD } from '../accounts/own-passwords.ts'
import { Link, Post, usePageContext } from './parts/components.tsx'
import type { PageContext } from './parts/route.ts'
import { SIGN_IN, signInTo } from './session.tsx'

/** Names are isolated, since their direction can differ from that of the header. */
export const Header = ({
  user,
  urlOf,
  servedPages,
  brand: { name, logo, backUrl, backText },
}: PageContext) => (
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
        <Link to="/" currentBelow={['/-/storage']}>
          Storage
        </Link>
        {servedPages.has('user') && (
          <Link to={`/${user.username}`} currentBelow={[`/${user.username}`]}>
            Repositories
          </Link>
        )}
        {user.admin && (
          <Link to="/-/admin" currentBelow={['/-/admin']}>
            Administration
          </Link>
        )}
      </nav>
    )}
    {user === null ? <SignInLink /> : <UserMenu username={user.username} />}
  </header>
)

const SignInLink = () => {
  const { path, search, hasSessions, urlOf } = usePageContext()
  // The query of a link that sets a password is a secret, which no other URL may contain.
  const to = path === SET_PASSWORD ? SIGN_IN : signInTo(path, search)
  return hasSessions && path !== SIGN_IN ? (
    <a class="account" href={urlOf(to)}>
      Sign in
    </a>
  ) : null
}

/** Pages that are in the menu, and in no other section. */
const OWN_PAGES = /^\/-\/(?:settings|account|avatars)(?:\/|$)/

/** What belongs to the user, in a list that opens without a script. */
const UserMenu = ({ username }: { username: string }) => {
  const { path, hasSessions, servedPages } = usePageContext()
  return (
    <details class="choice account">
      <summary aria-current={OWN_PAGES.test(path) ? 'true' : undefined}>
        <span class="hidden">Signed in as </span>
        <bdi>{username}</bdi>
      </summary>
      <div class="card">
        <ul class="plain">
          {servedPages.has('user') && (
            <li>
              <Link to={`/${username}`}>Profile</Link>
            </li>
          )}
          <li>
            <Link to={`/-/storage/${username}/usage`}>Usage</Link>
          </li>
          <li>
            <Link to="/-/settings" currentBelow={['/-/settings', '/-/avatars']}>
              Settings
            </Link>
          </li>
          <li>
            <Link to="/-/account" currentBelow={['/-/account']}>
              Tokens and sessions
            </Link>
          </li>
        </ul>
        {hasSessions && (
          <Post to="/-/sign-out">
            <button type="submit">Sign out</button>
          </Post>
        )}
      </div>
    </details>
  )
}
