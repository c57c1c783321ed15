/** @jsxRuntime automatic @jsxImportSource preact */
import { AllotError } from '../errors.ts'
import { Notice, Post, sentence } from './components.tsx'
import { SIGN_IN } from './page-endpoints.ts'
import { type PageContext, type PageRequest, type PageServices, page, type View } from './route.ts'
import { newSecret } from './session.tsx'

export const signInRoutes = [
  page({
    method: 'GET',
    path: SIGN_IN,
    auth: 'optional',
    handle: async ({ frame, query, user }) => {
      const to = targetOf(query.get('to'))
      return user === null ? signInView(frame, { to }) : { to }
    },
  }),
  page({
    method: 'POST',
    path: SIGN_IN,
    auth: 'optional',
    async handle(request, services) {
      const { form, frame } = request
      const to = targetOf(form.text('to'))
      try {
        return { to, secret: await signIn(request, services) }
      } catch (error) {
        const status = error instanceof AllotError ? REFUSALS[error.code] : undefined
        if (status === undefined) throw error
        const { message, retryAfter } = error as AllotError
        return { ...signInView(frame, { to, name: form.text('name'), failure: message }), status, retryAfter }
      }
    },
  }),
  page({
    method: 'POST',
    path: '/-/sign-out',
    auth: 'optional',
    async handle({ user, form, secret }, { hosting }) {
      if (user !== null && form.text('everywhere') !== '') await hosting.sessions.endAll(user.id)
      else await hosting.sessions.end(secret)
      return { to: SIGN_IN, secret: { value: newSecret() } }
    },
  }),
]

const PAGE_PATH = /^\/-(?:\/(?!\.\.?(?:\/|$))[\w.-]+)+$/

/** The page to go on to. Only paths of pages are allowed, so that a link to sign in cannot redirect to another site. */
const targetOf = (to: string | null): string => (to !== null && PAGE_PATH.test(to) ? to : '/')

/** Starts a session in place of the browser's current one. */
const signIn = async ({ form, req, secret }: PageRequest, { hosting }: PageServices) => {
  const { identities, sessions } = hosting
  if (identities.signIn === undefined)
    throw new AllotError('not_found', 'accounts sign in at the host application')
  const credential = await identities.signIn(req, form.text('name'), form.raw('secret'))
  const value = await sessions.begin(credential)
  await sessions.end(secret)
  return { value, seconds: sessions.lifetime }
}

/** Errors that the form shows, with their status; others get the error page. */
const REFUSALS: Readonly<Record<string, number>> = {
  unauthenticated: 422,
  forbidden: 403,
  too_many_requests: 429,
}

const signInView = (
  frame: PageContext,
  { to, name = '', failure }: { to: string; name?: string; failure?: string },
): View => ({
  title: 'Sign in',
  body: (
    <div class="narrow">
      <h1>Sign in</h1>
      {failure !== undefined && <Notice kind="over">{sentence(failure)}</Notice>}
      <Post frame={frame} to="/-/sign-in" class="stacked">
        <input type="hidden" name="to" value={to} />
        <label for="name">User name or email</label>
        <input
          id="name"
          name="name"
          value={name}
          autocomplete="username"
          autocapitalize="none"
          spellcheck={false}
          aria-describedby="name-hint"
        />
        <p class="hint" id="name-hint">
          Leave empty to sign in with a token.
        </p>
        <label for="secret">Password or access token</label>
        <input id="secret" name="secret" type="password" autocomplete="current-password" required />
        <button type="submit">Sign in</button>
      </Post>
    </div>
  ),
})
