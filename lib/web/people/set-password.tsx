/**
 * The page on which a user sets a password once, with a link that an administrator or a migration has made.
 */

import { MIN_PASSWORD_LENGTH } from '../../accounts/login.ts'
import { LINK_DAYS, type LinkUse } from '../../accounts/own-passwords.ts'
import { AllotError } from '../../errors.ts'
import { browserOf } from '../parts/browser-name.ts'
import { FlashMessage, Post } from '../parts/components.tsx'
import { Field } from '../parts/fields.tsx'
import { refusalOf } from '../parts/labels.ts'
import { SET_PASSWORD } from '../parts/password-link.ts'
import { type Crumb, form, type PageRequest, page, type View } from '../parts/route.ts'
import { secretView } from '../parts/secret.tsx'

const linkIn = ({ address, query, form }: PageRequest): LinkUse => ({
  user: query.get('user') ?? form.text('user'),
  code: query.get('code') ?? form.text('code'),
  address,
})

export const setPasswordPageRoutes = [
  page({
    path: SET_PASSWORD,
    auth: 'optional',
    async handle(request, { hosting }) {
      const link = linkIn(request)
      try {
        const { name } = await hosting.passwordLinks.find(link)
        return setPasswordView({ ...link, user: name })
      } catch (error) {
        return withoutLink(error, request)
      }
    },
  }),
  form({ path: SET_PASSWORD, auth: 'optional' }, (request, { hosting }) => {
    const link = linkIn(request)
    return {
      async run() {
        const chosen = {
          password: request.form.raw('password'),
          client: request.client,
          browser: browserOf(request),
        }
        try {
          const value = await hosting.passwordLinks.use(link, chosen)
          return { to: '/', secret: { value, seconds: hosting.sessions.lifetime } }
        } catch (error) {
          return withoutLink(error, request)
        }
      },
      page: () => setPasswordView(link),
    }
  }),
]

/**
 * Says that the link is not valid.
 * @throws other errors
 */
const withoutLink = (error: unknown, { path, form }: PageRequest): View => {
  if (!(error instanceof AllotError) || error.code !== 'not_found') throw error
  const body = (
    <div class="narrow">
      <h1>Set a password</h1>
      <FlashMessage />
    </div>
  )
  const entered = { path, form, refusal: refusalOf(error), isShown: false }
  return { status: 404, title: 'Set a password', body, entered }
}

const setPasswordView = ({ user, code }: LinkUse): View => ({
  title: 'Set a password',
  body: (
    <div class="narrow">
      <h1>Set a password</h1>
      <p>
        For the user <bdi>{user}</bdi>. The link works once.
      </p>
      <FlashMessage />
      <Post to={SET_PASSWORD} fields={{ user, code }} class="stacked">
        <Field
          name="password"
          type="password"
          hint={`At least ${MIN_PASSWORD_LENGTH} characters.`}
          isRequired
        />
        <button type="submit">Set password and sign in</button>
      </Post>
    </div>
  ),
})

/** Shows a link once. */
export const passwordLinkView = (name: string, link: string, crumbs: readonly Crumb[]): View =>
  secretView({
    title: 'Link to set a password',
    name,
    message: `The link was created, and earlier ones of ${name} have ended.`,
    section: ['link', 'Link'],
    secret: link,
    hint: `It works once, within ${LINK_DAYS} days. Anyone who has the link can choose the password of ${name}.`,
    crumbs,
  })
