import { AllotError } from '../errors.ts'
import type { Credential } from '../hosting/identity.ts'
import { newSecret } from './csrf.ts'
import { SIGN_IN } from './dispatcher.ts'
import { Notice, Post } from './document.tsx'
import { type PageContext, type PageRequest, type PageServices, page, type View } from './route.ts'

/** @jsxRuntime automatic @jsxImportSource preact */

export const signInView = (
  frame: PageContext,
  { to, name = '', failure }: { to: string; name?: string; failure?: string | undefined },
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
          Not needed with a token.
        </p>
        <label for="secret">Password or access token</label>
        <input id="secret" name="secret" type="password" autocomplete="current-password" required />
        <button type="submit">Sign in</button>
      </Post>
    </div>
  ),
})

/** Messages of errors begin in lower case and end without a stop. */
export const sentence = (message: string): string => `${message.charAt(0).toUpperCase()}${message.slice(1)}.`

/** Of names alone, and none that leads upward. */
const PATH = /^\/-(?:\/(?!\.\.?(?:\/|$))[\w.-]+)+$/

/** Onward to a path of these pages and to nowhere else, however it is written. */
const wayTo = (to: string | null): string => (to !== null && PATH.test(to) ? to : '/')

const signedIn = async ({ form, req }: PageRequest, { hosting }: PageServices): Promise<Credential> => {
  const { signIn } = hosting.identities
  if (signIn === undefined) throw new AllotError('not_found', 'the host has its own login')
  return signIn(req, form.text('name'), form.raw('secret'))
}

/** What is told to whoever tries, and asked again: the rest is a failure of ours. */
const REFUSALS: Readonly<Record<string, number>> = {
  unauthenticated: 422,
  forbidden: 403,
  too_many_requests: 429,
}

export const signInRoutes = [
  page({
    method: 'GET',
    path: SIGN_IN,
    who: 'anyone',
    handle: async ({ frame, query, user }) => {
      const to = wayTo(query.get('to'))
      return user === null ? signInView(frame, { to }) : { to }
    },
  }),
  page({
    method: 'POST',
    path: SIGN_IN,
    who: 'anyone',
    async handle(request, services) {
      const { form, frame, secret } = request
      const { sessions } = services.hosting
      const to = wayTo(form.text('to'))
      try {
        const value = await sessions.begin(await signedIn(request, services))
        await sessions.end(secret)
        return { to, secret: { value, seconds: sessions.lifetime } }
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
    who: 'anyone',
    async handle({ user, form, secret }, { hosting }) {
      if (user !== null && form.text('everywhere') !== '') await hosting.sessions.endAll(user.id)
      else await hosting.sessions.end(secret)
      return { to: SIGN_IN, secret: { value: newSecret() } }
    },
  }),
]
