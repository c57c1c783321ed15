/** The user's own profile in a form, and the head of the pages of settings. */
import type { ComponentChildren } from 'preact'
import type { Identity } from '../../accounts/access.ts'
import { actorOnOwnAccount } from '../../audit.ts'
import { existing } from '../../errors.ts'
import { hasScope } from '../../scopes.ts'
import { FlashMessage, PageHead, Post, Section, Tabs, usePageContext } from '../parts/components.tsx'
import { Field, Fields } from '../parts/fields.tsx'
import { form, type PageContext, type PageServices, page, type View } from '../parts/route.ts'

const FIELDS = ['fullName', 'description', 'website', 'location'] as const

/** Declare the pages of a user's own settings. */
export const settingsPage = { auth: 'required', scope: 'read:user' } as const
export const settingsForm = { auth: 'required', scope: 'write:user' } as const

const PATH = '/-/settings'

export const settingsPageRoutes = [
  page({ ...settingsPage, path: PATH, handle: ({ user }, services) => profileView(services, user) }),
  form({ ...settingsForm, path: PATH }, ({ user, form }, services) => ({
    async run() {
      const profile = Object.fromEntries(FIELDS.map((name) => [name, form.text(name)]))
      await services.hosting.accounts.edit(user.id, profile, { by: actorOnOwnAccount(user) })
      return `${PATH}?done=saved`
    },
    page: () => profileView(services, user),
  })),
]

const profileView = async ({ hosting }: PageServices, user: Identity): Promise<View> => {
  const account = existing(await hosting.accounts.byId(user.id), 'the account was deleted')
  const fields = FIELDS.map((name) => <Field key={name} name={name} value={account[name]} />)
  return settingsView(
    'Edit profile',
    'What others see of you.',
    <Section id="profile" title="About you">
      <Post to={PATH} class="stacked">
        {fields.slice(0, 2)}
        <Fields>{fields.slice(2)}</Fields>
        <button type="submit">Save profile</button>
      </Post>
    </Section>,
  )
}

/** A page of settings, with its heading and the result of the last form. */
export const settingsView = (title: string, subtitle: string, content: ComponentChildren): View => ({
  title,
  body: (
    <>
      <PageHead title={title} subtitle={subtitle} />
      <SettingsTabs />
      <FlashMessage />
      {content}
    </>
  ),
})

/**
 * Where the host signs users in, they have no password here, and a session whose scopes cannot change it has
 * no tab for it.
 */
const SettingsTabs = () => {
  const context = usePageContext()
  const sessions = context.hasSessions ? { rest: 'and sessions' } : {}
  return (
    <Tabs
      label="Settings"
      tabs={[
        { name: 'Edit profile', to: '/-/settings' },
        ...(mayChangePassword(context) ? [{ name: 'Password', to: '/-/settings/password' }] : []),
        { name: 'Keys', to: '/-/settings/keys' },
        ...(context.hasTokens ? [{ name: 'Tokens', ...sessions, to: '/-/account' }] : []),
      ]}
    />
  )
}

const mayChangePassword = ({ hasSessions, user }: PageContext): boolean =>
  hasSessions && user !== null && hasScope(user.scopes, 'write:user')
