/** The form with which users change their passwords. Only where accounts sign in here. */

import type { Identity } from '../../accounts/access.ts'
import { MIN_PASSWORD_LENGTH } from '../../accounts/login.ts'
import { browserOf } from '../parts/browser-name.ts'
import { FlashMessage, Post, Section } from '../parts/components.tsx'
import { Field, Fields } from '../parts/fields.tsx'
import type { Refusal } from '../parts/labels.ts'
import { BUSY, type PageServices, page, refusedForm, type View } from '../parts/route.ts'
import { SettingsHead, settingsForm } from './settings.tsx'

const PATH = '/-/settings/password'

export const passwordPageRoutes = [
  page({
    method: 'GET',
    path: PATH,
    auth: 'required',
    scope: 'write:user',
    handle: ({ user, query }, services) => passwordView(services, user, { done: query.get('done') }),
  }),
  page({
    ...settingsForm,
    path: PATH,
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
        return refusedForm(
          error,
          { ...BUSY, invalid: 422 },
          (failure) => passwordView(services, user, { failure }),
          { password: 'newPassword' },
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

const PasswordForm = ({ failure }: { failure: Refusal | undefined }) => {
  return (
    <Post to={PATH} class="stacked">
      <Field name="currentPassword" type="current-password" isRequired failure={failure} />
      <Fields>
        <Field
          name="newPassword"
          type="password"
          hint={`At least ${MIN_PASSWORD_LENGTH} characters.`}
          isRequired
          failure={failure}
        />
        <Field name="repeatedPassword" type="password" isRequired failure={failure} />
      </Fields>
      <button type="submit">Change password</button>
    </Post>
  )
}
