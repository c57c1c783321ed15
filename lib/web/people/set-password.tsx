/** @jsxRuntime automatic @jsxImportSource preact */
/** The page on which a user sets a password once, with a link that an administrator or a migration has made. */
import { LINK_DAYS, type LinkUse, SET_PASSWORD } from '../../accounts/own-passwords.ts'
import { AllotError } from '../../errors.ts'
import { FlashMessage, Post } from '../parts/components.tsx'
import { invalidAttributes, labelOf } from '../parts/labels.ts'
import { type Crumb, type PageRequest, page, type View } from '../parts/route.ts'
import { secretView } from '../parts/secret.tsx'

const linkIn = ({ address }: PageRequest, values: { get(name: string): string | null }): LinkUse => ({
  user: values.get('user') ?? '',
  code: values.get('code') ?? '',
  address,
})

export const setPasswordRoutes = [
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
        return refusalView(error, link)
      }
    },
  }),
  page({
    method: 'POST',
    path: SET_PASSWORD,
    auth: 'optional',
    async handle(request, { hosting }) {
      const { form, client, secret } = request
      const link = linkIn(request, { get: (name) => form.text(name) })
      try {
        const account = await hosting.passwordLinks.use(link, form.raw('password'), client)
        const value = await hosting.sessions.begin({ account, token: null })
        await hosting.sessions.end(secret)
        return { to: '/', secret: { value, seconds: hosting.sessions.lifetime } }
      } catch (error) {
        return refusalView(error, link)
      }
    },
  }),
]

/** @throws the error, unless the page says what is wrong */
const refusalView = (error: unknown, link: LinkUse): View => {
  if (!(error instanceof AllotError)) throw error
  if (error.code === 'invalid') return { ...setPasswordView(link, error.message), status: 422 }
  if (error.code !== 'not_found') throw error
  const body = (
    <div class="narrow">
      <h1>Set a password</h1>
      <FlashMessage failure={error.message} />
    </div>
  )
  return { status: 404, title: 'Set a password', body }
}

const setPasswordView = ({ user, code }: LinkUse, failure?: string): View => ({
  title: 'Set a password',
  body: (
    <div class="narrow">
      <h1>Set a password</h1>
      <p>
        For the user <bdi>{user}</bdi>. The link works once.
      </p>
      <FlashMessage failure={failure} />
      <Post
        to={SET_PASSWORD}
        fields={[
          ['user', user],
          ['code', code],
        ]}
        class="stacked"
      >
        <label for="password">{labelOf('password')}</label>
        <input
          id="password"
          name="password"
          type="password"
          autocomplete="new-password"
          required
          {...invalidAttributes('password', failure, 'password-hint')}
        />
        <p class="hint" id="password-hint">
          At least 8 characters.
        </p>
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
