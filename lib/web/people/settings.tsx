/** The user's own profile in a form, and the head of the pages of settings. */
import type { Identity } from '../../accounts/access.ts'
import { actorOnOwnAccount } from '../../audit.ts'
import { AllotError } from '../../errors.ts'
import { hasScope } from '../../scopes.ts'
import { FlashMessage, PageHead, Post, Section, Tabs, usePageContext } from '../parts/components.tsx'
import { Field, Fields } from '../parts/fields.tsx'
import { type PageContext, type PageServices, page, refusedForm, type View } from '../parts/route.ts'

const FIELDS = ['fullName', 'description', 'website', 'location'] as const

type Profile = Record<(typeof FIELDS)[number], string>

/** Declare the pages of a user's own settings. */
export const settingsPage = { method: 'GET', auth: 'required', scope: 'read:user' } as const
export const settingsForm = { method: 'POST', auth: 'required', scope: 'write:user' } as const

export const settingsPageRoutes = [
  page({
    ...settingsPage,
    path: '/-/settings',
    handle: ({ user, query }, services) => settingsView(services, user, { done: query.get('done') }),
  }),
  page({
    ...settingsForm,
    path: '/-/settings',
    async handle({ user, form }, services) {
      const profile = Object.fromEntries(FIELDS.map((name) => [name, form.text(name)])) as Profile
      try {
        await services.hosting.accounts.edit(user.id, profile, { by: actorOnOwnAccount(user) })
      } catch (error) {
        return refusedForm(error, { invalid: 422, conflict: 422 }, (failure) =>
          settingsView(services, user, { failure }, profile),
        )
      }
      return { to: '/-/settings?done=saved' }
    },
  }),
]

/** @param entered what the form was refused for */
const settingsView = async (
  { hosting }: PageServices,
  user: Identity,
  message: FlashMessage,
  entered?: Profile,
): Promise<View> => {
  const account = await hosting.accounts.byId(user.id)
  if (account === undefined) throw new AllotError('not_found', 'the account was deleted')
  const profile = entered ?? account
  const fields = FIELDS.map((name) => (
    <Field key={name} name={name} value={profile[name]} failure={message.failure} />
  ))
  return {
    title: 'Edit profile',
    body: (
      <>
        <SettingsHead title="Edit profile" subtitle="What others see of you." />
        <FlashMessage {...message} />
        <Section id="profile" title="About you">
          <Post to="/-/settings" class="stacked">
            {fields.slice(0, 2)}
            <Fields>{fields.slice(2)}</Fields>
            <button type="submit">Save profile</button>
          </Post>
        </Section>
      </>
    ),
  }
}

/**
 * The heading and the tabs of the pages of settings. Where the host signs users in, they have no password
 * here, and a session whose scopes cannot change it has no tab for it.
 */
export const SettingsHead = ({ title, subtitle }: { title: string; subtitle: string }) => {
  const context = usePageContext()
  const sessions = context.hasSessions ? { rest: 'and sessions' } : {}
  return (
    <>
      <PageHead title={title} subtitle={subtitle} />
      <Tabs
        label="Settings"
        tabs={[
          { name: 'Edit profile', to: '/-/settings' },
          ...(mayChangePassword(context) ? [{ name: 'Password', to: '/-/settings/password' }] : []),
          { name: 'Keys', to: '/-/settings/keys' },
          ...(context.hasTokens ? [{ name: 'Tokens', ...sessions, to: '/-/account' }] : []),
        ]}
      />
    </>
  )
}

const mayChangePassword = ({ hasSessions, user }: PageContext): boolean =>
  hasSessions && user !== null && hasScope(user.scopes, 'write:user')
