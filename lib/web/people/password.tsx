/** @jsxRuntime automatic @jsxImportSource preact */
/** The form with which users change their passwords. Only where accounts sign in here. */

import type { Identity } from '../../accounts/access.ts'
import { MIN_PASSWORD_LENGTH } from '../../accounts/login.ts'
import { browserOf } from '../parts/browser-name.ts'
import { FlashMessage, Post, Section } from '../parts/components.tsx'
import { Field } from '../parts/fields.tsx'
import { aboutField } from '../parts/labels.ts'
import { BUSY, type PageServices, page, refusedForm, type View } from '../parts/route.ts'
import { SettingsHead } from './settings.tsx'

const PATH = '/-/settings/password'

export const passwordRoutes = [
  page({
    method: 'GET',
    path: PATH,
    auth: 'required',
    scope: 'write:user',
    handle: ({ user, query }, services) => passwordView(services, user, { done: query.get('done') }),
  }),
  page({
    method: 'POST',
    path: PATH,
    auth: 'required',
    scope: 'write:user',
    async handle(request, services) {
      const { user, form, client } = request
      const { passwordChange, sessions } = services.hosting
      try {
        const value = await passwordChange.change(user, {
          current: form.raw('currentPassword'),
          password: form.raw('newPassword'),
          repeated: form.raw('repeatedPassword'),
          client,
          browser: browserOf(request),
        })
        return { to: `${PATH}?done=password`, secret: { value, seconds: sessions.lifetime } }
      } catch (error) {
        return refusedForm(error, { ...BUSY, invalid: 422 }, (message) =>
          passwordView(services, user, { failure: aboutField(message, 'password', 'newPassword') }),
        )
      }
    },
  }),
]

const passwordView = async (
  { hosting }: PageServices,
  user: Identity,
  message: FlashMessage,
): Promise<View> => {
  const account = await hosting.accounts.byId(user.id)
  const hasPassword = account?.password != null
  return {
    title: 'Password',
    body: (
      <>
        <SettingsHead title="Password" subtitle="For signing in here, and for git over HTTPS." />
        <FlashMessage {...message} />
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
            <PasswordForm failure={message.failure} />
          ) : (
            <p>
              Your account has no password yet. An administrator can create a link with which you choose one.
            </p>
          )}
        </Section>
      </>
    ),
  }
}

const PasswordForm = ({ failure }: { failure: string | undefined }) => {
  return (
    <Post to={PATH} class="stacked">
      <Field name="currentPassword" type="current-password" isRequired failure={failure} />
      <Field
        name="newPassword"
        type="password"
        hint={`At least ${MIN_PASSWORD_LENGTH} characters.`}
        isRequired
        failure={failure}
      />
      <Field name="repeatedPassword" type="password" isRequired failure={failure} />
      <button type="submit">Change password</button>
    </Post>
  )
}
