/** The signed-in user's profile and settings. */
import * as v from 'valibot'
import { actorOnOwnAccount } from '../audit.ts'
import type { Account, Preferences } from '../records/schema/index.ts'
import * as f from './fields.ts'
import { at } from './route.ts'
import { stillThere } from './users.ts'
import { resource } from './view.ts'

/** The theme that clients expect of a user who has not chosen one. */
export const DEFAULT_THEME = 'gitea-auto'

const DEFAULTS: Preferences = {
  language: '',
  theme: DEFAULT_THEME,
  diffViewStyle: '',
  hideEmail: false,
  hideActivity: false,
}

const settingsView = resource<Account>()({
  full_name: [f.text('Alice'), ({ fullName }) => fullName],
  website: [f.text('https://alice.example.org'), ({ website }) => website],
  description: [f.text(''), ({ description }) => description],
  location: [f.text(''), ({ location }) => location],
  language: [f.text('en-US'), ({ preferences = DEFAULTS }) => preferences.language],
  theme: [f.text('gitea-auto'), ({ preferences = DEFAULTS }) => preferences.theme],
  diff_view_style: [f.text('split'), ({ preferences = DEFAULTS }) => preferences.diffViewStyle],
  hide_email: [v.boolean(), ({ preferences = DEFAULTS }) => preferences.hideEmail],
  hide_activity: [v.boolean(), ({ preferences = DEFAULTS }) => preferences.hideActivity],
})

const preference = v.optional(v.pipe(v.string(), v.maxLength(50)))

const UserSettingsOptions = v.object({
  full_name: v.optional(f.example(f.fullNameText, 'Alice')),
  website: v.optional(f.shortText),
  description: v.optional(f.shortText),
  location: v.optional(f.locationText),
  language: preference,
  theme: preference,
  diff_view_style: preference,
  hide_email: v.optional(v.boolean()),
  hide_activity: v.optional(v.boolean()),
})

/** The preferences in a body: each given member replaces that of the user. */
const preferencesIn = (
  body: v.InferOutput<typeof UserSettingsOptions>,
  before: Preferences = DEFAULTS,
): Preferences => ({
  language: body.language ?? before.language,
  theme: body.theme ?? before.theme,
  diffViewStyle: body.diff_view_style ?? before.diffViewStyle,
  hideEmail: body.hide_email ?? before.hideEmail,
  hideActivity: body.hide_activity ?? before.hideActivity,
})

const settings = at('/user/settings', { scope: 'user', reads: 'required' })

export const settingsRoutes = [
  settings.get('getUserSettings', '', {
    summary: "The signed-in user's profile and settings",
    of: settingsView,
    run: async ({ user }, { hosting }) => stillThere(await hosting.accounts.byId(user.id)),
  }),
  settings.patch('updateUserSettings', '', {
    summary: "Change the signed-in user's profile and settings",
    body: UserSettingsOptions,
    of: settingsView,
    run: async ({ user, body }, { hosting }) => {
      const { full_name: fullName, website, description, location } = body
      const profile = { fullName, website, description, location }
      const edited = await hosting.accounts.edit(
        user.id,
        ({ preferences }) => ({ ...profile, preferences: preferencesIn(body, preferences) }),
        { by: actorOnOwnAccount(user) },
      )
      return stillThere(edited)
    },
  }),
]
