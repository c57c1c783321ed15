/** The form with which users change their passwords. Only where accounts sign in here. */
import type { Identity } from '../../accounts/access.ts'
import { MIN_PASSWORD_LENGTH } from '../../accounts/login.ts'
import { browserOf } from '../parts/browser-name.ts'
import { accountPath, Link, Post, Section } from '../parts/components.tsx'
import { Field, Fields } from '../parts/fields.tsx'
import { form, type PageServices, page, type View } from '../parts/route.ts'
import { settingsForm, settingsView } from './settings.tsx'

const PATH = '/-/settings/password'

export const passwordPageRoutes = [
  page({
    ...settingsForm,
    path: PATH,
    handle: ({ user }, services) => passwordView(services, user),
  }),
  form({ ...settingsForm, path: PATH, names: { password: 'newPassword' } }, (request, services) => ({
    async run() {
      const { user, form, client } = request
      const { passwordChange, sessions } = services.hosting
      const value = await passwordChange.change(user, {
        current: form.raw('currentPassword'),
        password: form.raw('newPassword'),
        repeated: form.raw('repeatedPassword'),
        client,
        browser: browserOf(request),
      })
      return { to: `${PATH}?done=password`, secret: { value, seconds: sessions.lifetime } }
    },
    page: () => passwordView(services, request.user),
  })),
]

const passwordView = async ({ hosting }: PageServices, user: Identity): Promise<View> => {
  const account = await hosting.accounts.byId(user.id)
  const hasPassword = account?.password != null
  return settingsView(
    'Password',
    'For signing in here, and for git over HTTPS.',
    <Section
      id="password"
      title="Change password"
      about={
        hasPassword
          ? 'This signs you out of all other devices. Access tokens and keys stay valid: revoke those that others may know.'
          : undefined
      }
    >
      {hasPassword ? (
        <PasswordForm />
      ) : (
        <p>
          Your account has no password yet.{' '}
          {user.admin ? (
            <Link to={accountPath(account!.name)}>Set one in the administration</Link>
          ) : (
            'An administrator can create a link with which you choose one.'
          )}
        </p>
      )}
    </Section>,
  )
}

const PasswordForm = () => (
  <Post to={PATH} class="stacked">
    <Field name="currentPassword" type="current-password" isRequired />
    <Fields>
      <Field
        name="newPassword"
        type="password"
        hint={`At least ${MIN_PASSWORD_LENGTH} characters.`}
        isRequired
      />
      <Field name="repeatedPassword" type="password" isRequired />
    </Fields>
    <button type="submit">Change password</button>
  </Post>
)
