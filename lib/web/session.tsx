/**
 * The session cookie and CSRF protection of the pages, and the pages to sign in and out. The cookie
 * identifies a browser, signed in or not: 32 random bytes that scripts cannot read. Every form carries a
 * token derived from it. Signing in replaces the cookie, which prevents session fixation.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { newSessionSecret } from '../accounts/sessions.ts'
import { AllotError } from '../errors.ts'
import { requireScopes } from '../scopes.ts'
import { browserOf } from './parts/browser-name.ts'
import { FlashMessage, Notice, Post, Submit, useEntered, usePageContext } from './parts/components.tsx'
import { labelOf } from './parts/labels.ts'
import { type Entered, form, type PageRequest, type PageServices, page, type View } from './parts/route.ts'

export interface BrowserSession {
  readonly secret: string
  /** Whether the response must set the cookie. */
  readonly isNew: boolean
}

/** The path and the host for which a cookie is valid. */
interface CookieScope {
  /** Whether the pages are served over HTTPS. */
  isSecure: boolean
  /** Path at which the pages are mounted, without a slash at the end. */
  mount: string
}

const SECRET = /^[\w-]{43}$/

/** The session of a request's browser; a new one when the request has no valid cookie. */
export const browserSessionOf = (req: IncomingMessage, scope: CookieScope): BrowserSession => {
  const cookie = parseCookies(req).find(([name, value]) => name === cookieName(scope) && SECRET.test(value))
  return cookie === undefined
    ? { secret: newSessionSecret(), isNew: true }
    : { secret: cookie[1], isNew: false }
}

/**
 * The Set-Cookie header of a session. `SameSite=Lax` and not `Strict`, so that links from mails and chats
 * open pages signed in. This is safe: a GET changes nothing, and a POST needs the token of a form.
 * @param seconds lifetime; until the browser is closed when absent
 */
export const sessionCookie = (scope: CookieScope, secret: string, seconds?: number): string =>
  [
    `${cookieName(scope)}=${secret}`,
    // Browsers require this path for the `__Host-` prefix, which keeps subdomains from setting the cookie.
    `Path=${scope.isSecure ? '/' : scope.mount || '/'}`,
    'HttpOnly',
    'SameSite=Lax',
    ...(scope.isSecure ? ['Secure'] : []),
    ...(seconds === undefined ? [] : [`Max-Age=${seconds}`]),
  ].join('; ')

/**
 * Over HTTPS, the cookies of all mounts of an origin have the path `/`. The name tells them apart, so that
 * signing in at one of several instances does not sign out at another.
 */
const cookieName = ({ isSecure, mount }: CookieScope): string => {
  if (!isSecure) return 'allot'
  return mount === ''
    ? '__Host-allot'
    : `__Host-allot-${createHash('sha256').update(mount).digest('hex').slice(0, 16)}`
}

const parseCookies = ({ headers: { cookie = '' } }: IncomingMessage): [name: string, value: string][] =>
  cookie.split(';').map((pair) => {
    const [name = '', ...value] = pair.trim().split('=')
    return [name, value.join('=')]
  })

/** The token that every form of a session carries. */
export const csrfToken = (secret: string): string =>
  createHmac('sha256', secret).update('form').digest('base64url')

/**
 * Refuses a form that belongs to another session.
 * @throws AllotError forbidden
 */
export const checkCsrf = (secret: string, token: string): void => {
  const [actual, expected] = [Buffer.from(token), Buffer.from(csrfToken(secret))]
  if (actual.length !== expected.length || !timingSafeEqual(actual, expected))
    throw new AllotError(
      'forbidden',
      'this form has expired, or cookies are off: go back, reload the page and send it again',
    )
}

export const SIGN_IN = '/-/sign-in'

/** The page to sign in at, for a form that was sent after the session had ended. */
export const SESSION_ENDED = `${SIGN_IN}?ended=yes`

export const signInPageRoutes = [
  page({
    path: SIGN_IN,
    auth: 'optional',
    handle: async ({ query, user }) => {
      const to = targetOf(query.get('to'))
      return user === null ? signInView(to, query.has('ended')) : { to }
    },
  }),
  form({ path: SIGN_IN, auth: 'optional' }, (request, services) => {
    const to = targetOf(request.form.text('to'))
    return {
      run: async () => ({ to, secret: await signIn(request, services) }),
      page: () => signInView(to),
    }
  }),
  page({
    method: 'POST',
    path: '/-/sign-out',
    auth: 'optional',
    async handle({ user, form, secret }, { hosting }) {
      if (user !== null && form.text('everywhere') !== '') {
        requireScopes(user, { scope: 'write:user' })
        await hosting.sessions.endAll(user.id)
      } else await hosting.sessions.end(secret)
      return { to: SIGN_IN, secret: { value: newSessionSecret() } }
    },
  }),
]

/**
 * The page to sign in at, which leads on to another one.
 * @param search query string of that one, without its question mark
 */
export const signInTo = (path: string, search: string): string => {
  const to = targetOf(search === '' ? path : `${path}?${search}`)
  return to === '/' ? SIGN_IN : `${SIGN_IN}?to=${encodeURIComponent(to)}`
}

/**
 * Printable ASCII without spaces, `"`, `#`, `<` and `>`, which browsers percent-encode; no longer than
 * filters of pages are.
 */
const PAGE_QUERY = /^[!$-;=?-~]{1,2000}$/

/** Segments that are neither empty nor `.` or `..`, of the characters of an encoded path of a page. */
const PAGE_PATH = /^(?:\/(?!\.\.?(?:\/|$))[\w.~%@+!'()*-]+)+$/

/**
 * The page to go on to. Only paths of pages are allowed, so that a link to sign in cannot redirect to another
 * site.
 */
export const targetOf = (to: string | null): string => {
  const [path = '', ...rest] = (to ?? '').split('?')
  // No segment is empty, so that the path cannot begin with the name of another host.
  if (path !== '/' && !PAGE_PATH.test(path)) return '/'
  const query = rest.join('?')
  return PAGE_QUERY.test(query) ? `${path}?${query}` : path
}

/** Starts a session in place of the browser's current one. */
const signIn = async (request: PageRequest, { hosting }: PageServices) => {
  const { form, req } = request
  const { identities, sessions } = hosting
  const credential = await identities.signIn(req, form.text('name'), form.raw('secret'))
  const value = await sessions.begin(credential, browserOf(request))
  return { value, seconds: sessions.lifetime }
}

/** @param hasEnded whether a form was sent after the session had ended */
const signInView = (to: string, hasEnded = false): View => ({
  title: 'Sign in',
  body: (
    <div class="narrow">
      <h1>Sign in</h1>
      <FlashMessage />
      {hasEnded && (
        <Notice kind="near">
          Your session has ended, and the form was not saved. Sign in, open its page again and repeat it.
        </Notice>
      )}
      <Post to={SIGN_IN} fields={{ to }} class="stacked">
        <PasswordFields />
      </Post>
      <WithToken to={to} />
    </div>
  ),
})

/**
 * Whether what was entered was wrong, and not the account or the number of attempts: in the form with a token
 * or in that with a password.
 */
const isWrong = (entered: Entered | undefined, isToken: boolean): boolean =>
  entered?.code === 'unauthenticated' && (entered.form.text('name') === '') === isToken

/** Which of the two is wrong is not said, so both are marked. */
const PasswordFields = () => {
  const entered = useEntered()
  const mark = isWrong(entered, false) ? { 'aria-invalid': true, 'aria-describedby': 'failure' } : {}
  return (
    <>
      <label for="name">{labelOf('login')}</label>
      <input
        id="name"
        name="name"
        value={entered?.form.text('name') ?? ''}
        autocomplete="username"
        autocapitalize="none"
        spellcheck={false}
        required
        {...mark}
      />
      <label for="secret">{labelOf('password')}</label>
      <input id="secret" name="secret" type="password" autocomplete="current-password" required {...mark} />
      <button type="submit">Sign in</button>
    </>
  )
}

const WithToken = ({ to }: { to: string }) => {
  const { entered } = usePageContext()
  const isMarked = isWrong(entered, true)
  return (
    <details class="alternative" open={entered?.form.text('name') === ''}>
      <summary>Use an access token instead</summary>
      <Post to={SIGN_IN} fields={{ to }} class="stacked">
        <label for="token">{labelOf('accessToken')}</label>
        <input
          id="token"
          name="secret"
          type="password"
          autocomplete="off"
          required
          aria-invalid={isMarked || undefined}
          aria-describedby={isMarked ? 'failure token-hint' : 'token-hint'}
        />
        <p class="hint" id="token-hint">
          The token says who you are. The session may do what the scopes of the token allow.
        </p>
        <Submit kind="secondary">Sign in with the token</Submit>
      </Post>
    </details>
  )
}
