/**
 * The page on which a user sets a password once, with a link that an administrator or a migration has made.
 */

import { MIN_PASSWORD_LENGTH } from '../../accounts/login.ts'
import { LINK_DAYS, type LinkUse } from '../../accounts/own-passwords.ts'
import { browserOf } from '../parts/browser-name.ts'
import { FlashMessage, Post } from '../parts/components.tsx'
import { Field } from '../parts/fields.tsx'
import type { Refusal } from '../parts/labels.ts'
import { SET_PASSWORD } from '../parts/password-link.ts'
import {
  BUSY,
  type Crumb,
  type PageRequest,
  page,
  type Refusals,
  refusedForm,
  type View,
} from '../parts/route.ts'
import { secretView } from '../parts/secret.tsx'

const linkIn = ({ address }: PageRequest, values: { get(name: string): string | null }): LinkUse => ({
  user: values.get('user') ?? '',
  code: values.get('code') ?? '',
  address,
})

export const setPasswordPageRoutes = [
  page({
    method: 'GET',
    path: SET_PASSWORD,
    auth: 'optional',
    async handle(request, { hosting }) {
      const link = linkIn(request, request.query)
      try {
        const { name } = await hosting.passwordLinks.find(link)
        return setPasswordView({ ...link, user: name })
      } catch (error) {
        return refusedForm(error, REFUSALS, refusalView(link))
      }
    },
  }),
  page({
    method: 'POST',
    path: SET_PASSWORD,
    auth: 'optional',
    async handle(request, { hosting }) {
      const { form, client } = request
      const link = linkIn(request, { get: (name) => form.text(name) })
      try {
        const chosen = { password: form.raw('password'), client, browser: browserOf(request) }
        const value = await hosting.passwordLinks.use(link, chosen)
        return { to: '/', secret: { value, seconds: hosting.sessions.lifetime } }
      } catch (error) {
        return refusedForm(error, REFUSALS, refusalView(link))
      }
    },
  }),
]

const REFUSALS: Refusals = { ...BUSY, forbidden: 403, invalid: 422, not_found: 404 }

/** The form again; only the message when the link is not valid. */
const refusalView =
  (link: LinkUse) =>
  (failure: Refusal, status: number): View => {
    if (status !== 404) return setPasswordView(link, failure)
    const body = (
      <div class="narrow">
        <h1>Set a password</h1>
        <FlashMessage failure={failure} />
      </div>
    )
    return { title: 'Set a password', body }
  }

const setPasswordView = ({ user, code }: LinkUse, failure?: Refusal): View => ({
  title: 'Set a password',
  body: (
    <div class="narrow">
      <h1>Set a password</h1>
      <p>
        For the user <bdi>{user}</bdi>. The link works once.
      </p>
      <FlashMessage failure={failure} />
      <Post to={SET_PASSWORD} fields={{ user, code }} class="stacked">
        <Field
          name="password"
          type="password"
          hint={`At least ${MIN_PASSWORD_LENGTH} characters.`}
          isRequired
          failure={failure}
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
