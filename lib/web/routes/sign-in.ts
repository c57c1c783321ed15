import type { Credential } from '../../accounts/identity.ts'
import { AllotError } from '../../errors.ts'
import { newSecret } from '../csrf.ts'
import { SIGN_IN } from '../dispatcher.ts'
import { type PageRequest, type PageServices, page } from '../route.ts'
import { signInView } from '../sign-in.tsx'

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
