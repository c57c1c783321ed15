/** The signed-in user's profile and settings. */
import * as v from 'valibot'
import { actorOnOwnAccount } from '../audit.ts'
import { ValidationError } from '../http/index.ts'
import type { Account, Preferences } from '../records/schema/index.ts'
import { example, fullNameText, locationText, shortText, text } from './fields.ts'
import { reply, route } from './route.ts'
import { accountDeleted } from './users.ts'

const UserSettings = v.object({
  full_name: text('Alice'),
  website: text('https://alice.example.org'),
  description: text(''),
  location: text(''),
  language: text('en-US'),
  theme: text('gitea-auto'),
  diff_view_style: text('split'),
  hide_email: v.boolean(),
  hide_activity: v.boolean(),
})

/** The theme that clients expect of a user who has not chosen one. */
export const DEFAULT_THEME = 'gitea-auto'

const DEFAULTS: Preferences = {
  language: '',
  theme: DEFAULT_THEME,
  diffViewStyle: '',
  hideEmail: false,
  hideActivity: false,
}

const presentSettings = ({
  fullName,
  website,
  description,
  location,
  preferences = DEFAULTS,
}: Account): v.InferOutput<typeof UserSettings> => ({
  full_name: fullName,
  website,
  description,
  location,
  language: preferences.language,
  theme: preferences.theme,
  diff_view_style: preferences.diffViewStyle,
  hide_email: preferences.hideEmail,
  hide_activity: preferences.hideActivity,
})

const preference = v.optional(v.pipe(v.string(), v.maxLength(50)))

const UserSettingsOptions = v.object({
  full_name: v.optional(example(fullNameText, 'Alice')),
  website: v.optional(shortText),
  description: v.optional(shortText),
  location: v.optional(locationText),
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

const read = { auth: 'required', scope: 'read:user', tag: 'user' } as const
const write = { auth: 'required', scope: 'write:user', tag: 'user' } as const

export const settingsRoutes = [
  route({
    ...read,
    method: 'GET',
    path: '/user/settings',
    operationId: 'getUserSettings',
    summary: "The signed-in user's profile and settings",
    responses: { 200: UserSettings },
    handle: async ({ user }, { hosting }) => {
      const account = await hosting.accounts.byId(user.id)
      if (account === undefined) throw accountDeleted()
      return reply(200, presentSettings(account))
    },
  }),
  route({
    ...write,
    method: 'PATCH',
    path: '/user/settings',
    operationId: 'updateUserSettings',
    summary: "Change the signed-in user's profile and settings",
    body: UserSettingsOptions,
    responses: { 200: UserSettings, 422: ValidationError },
    handle: async ({ user, body }, { hosting }) => {
      const { full_name: fullName, website, description, location } = body
      const edited = await hosting.accounts.edit(
        user.id,
        ({ preferences }) => ({
          fullName,
          website,
          description,
          location,
          preferences: preferencesIn(body, preferences),
        }),
        { by: actorOnOwnAccount(user) },
      )
      if (edited === undefined) throw accountDeleted()
      return reply(200, presentSettings(edited))
    },
  }),
]
