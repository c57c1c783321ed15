import * as v from 'valibot'
import { visibleAccount } from '../accounts/find.ts'
import { noreplyAddress, OPTIONAL_EMAIL } from '../accounts/names.ts'
import { AllotError } from '../errors.ts'
import { accountPage } from '../host-pages/html-pages.ts'
import { type Account, accounts, Visibility } from '../records/schema/index.ts'
import type { Profile } from '../repositories/lists.ts'
import * as f from './fields.ts'
import { at, type Recipient } from './route.ts'
import { resource, searchResults } from './view.ts'

/** The email address and the roles of a user are shown to the user and to administrators only. */
const isOpenTo = ({ user }: Recipient, { id }: Account) => user !== null && (user.admin || user.id === id)

export const userView = resource<Account & Partial<Omit<Profile, 'account'>>>()({
  id: [f.number(2), ({ id }) => id],
  login: [f.text('alice'), ({ name }) => name],
  full_name: [f.text('Alice'), ({ fullName }) => fullName],
  email: [f.text('alice@noreply.code.example.org'), (account, recipient) => emailOf(account, recipient)],
  avatar_url: [f.link('/avatars/alice'), (account, to) => avatarUrl(account, to)],
  html_url: [
    f.link('/alice'),
    (account, { htmlUrls, baseUrl }) => htmlUrls.of(accountPage(account), baseUrl),
  ],
  // The login of a host decides for each request.
  is_admin: [
    v.boolean(),
    (account, to) => (to.user?.id === account.id ? to.user.admin : isOpenTo(to, account) && account.admin),
  ],
  active: [v.boolean(), (account, recipient) => isOpenTo(recipient, account) && account.active],
  created: [f.Time, ({ createdAt }) => f.timestamp(createdAt)],
  location: [f.text(''), ({ location }) => location],
  website: [f.text('https://alice.example.org'), ({ website }) => website],
  description: [f.text(''), ({ description }) => description],
  visibility: [Visibility, ({ visibility }) => visibility],
  username: [f.text('alice'), ({ name }) => name],
  followers_count: [v.optional(v.number()), ({ followers }) => followers],
  following_count: [v.optional(v.number()), ({ following }) => following],
  starred_repos_count: [v.optional(v.number()), ({ starred }) => starred],
})
export const User = userView.schema
export type User = v.InferOutput<typeof User>
export const presentUser = userView.present

/** The address that is shown in the place of a hidden one. */
const emailOf = (account: Account, recipient: Recipient): string => {
  if (account.kind === 'organization') return ''
  if (isOpenTo(recipient, account) && account.email !== '') return account.email
  return noreplyAddress(account.name, hostNameOf(recipient.baseUrl))
}

export const hostNameOf = (baseUrl: string): string => new URL(baseUrl).hostname

/** The image of the host, or that of the name. A hash of the email would confirm a guess of it. */
export const avatarUrl = (
  { name }: Account,
  { baseUrl, htmlUrls }: Pick<Recipient, 'baseUrl' | 'htmlUrls'>,
): string => htmlUrls.avatar(name) ?? `${baseUrl}/avatars/${name}`

/**
 * The account of the signed-in user.
 * @throws AllotError unauthenticated when it was deleted after the request was authenticated
 */
export const stillThere = (account: Account | undefined): Account => {
  if (account === undefined) throw new AllotError('unauthenticated', 'the signed-in account was deleted')
  return account
}

const users = at('/users', { scope: 'user' })

export const userRoutes = [
  at('/user', { scope: 'user', reads: 'required' }).get('userGetCurrent', '', {
    summary: 'The signed-in user',
    cached: true,
    of: userView,
    run: async ({ user, client }, { hosting }, tx) => {
      const account = stillThere(await accounts.get(tx, [user.id]))
      return { ...account, ...(await hosting.profiles.of(tx, user, account, client())) }
    },
  }),
  users.list('userSearch', '/search', {
    summary: 'Search users by a part of the login or full name',
    query: v.object({
      q: f.optionalQuery(f.shortText, 'Part of the login or of the full name.'),
      uid: f.idQuery('Id of the only user to find.'),
    }),
    of: userView,
    // The specification's UserList is the bare array; Forgejo wraps it.
    wrap: {
      schema: (users) => v.union([users, searchResults.schema(users)]),
      body: (users, { options }) => (options.dialect === 'specification' ? users : searchResults.body(users)),
    },
    run: ({ user, query, page, client }, { hosting }) =>
      hosting.search.users(user, { q: query.q, id: query.uid || undefined }, page, client()),
  }),
  users.get('userGet', '/{username}', {
    summary: 'A user',
    cached: true,
    of: userView,
    run: async ({ user, params, client }, { hosting }, tx) => {
      const account = await visibleAccount(tx, user, params.username)
      return account && { ...account, ...(await hosting.profiles.of(tx, user, account, client())) }
    },
  }),
]

const emailField = v.pipe(f.emailText, v.regex(OPTIONAL_EMAIL, 'expected an email address'))

/** Members that clients of Forgejo send and Allot ignores; like every member, they must have their type. */
const ignoredMembers = {
  source_id: v.optional(f.wholeNumber),
  login_name: v.optional(f.shortText),
}

const CreateUserOption = v.object({
  ...ignoredMembers,
  username: f.text('alice'),
  email: v.optional(f.example(emailField, 'alice@example.org')),
  full_name: v.optional(f.example(f.fullNameText, 'Alice')),
  password: v.optional(f.shortText),
  visibility: f.GivenVisibility,
  ...f.acceptedBooleans('must_change_password', 'restricted', 'send_notify'),
})

const EditUserOption = v.object({
  ...ignoredMembers,
  email: v.optional(emailField),
  full_name: v.optional(f.fullNameText),
  password: v.optional(f.shortText),
  website: v.optional(f.shortText),
  description: v.optional(f.shortText),
  location: v.optional(f.locationText),
  admin: v.optional(f.example(v.boolean(), true)),
  active: v.optional(v.boolean()),
  prohibit_login: v.optional(v.boolean()),
  visibility: f.GivenVisibility,
  ...f.acceptedBooleans(
    'allow_create_organization',
    'allow_git_hook',
    'allow_import_local',
    'hide_email',
    'must_change_password',
    'restricted',
    'send_notify',
  ),
})

/** `prohibit_login` wins over `active`, which it is the opposite of. */
const activeIn = ({
  active,
  prohibit_login: isProhibited,
}: v.InferOutput<typeof EditUserOption>): boolean | undefined =>
  isProhibited === true ? false : (active ?? (isProhibited === false ? true : undefined))

const adminUsers = at('/admin/users', { scope: 'admin', reads: 'admin' })

export const adminUserRoutes = [
  adminUsers.list('adminSearchUsers', '', {
    summary: 'All users',
    of: userView,
    run: ({ page }, { hosting }) => hosting.accounts.list('user', page),
  }),
  adminUsers.post('adminCreateUser', '', {
    summary: 'Create a user',
    body: CreateUserOption,
    of: userView,
    run: ({ user, body, client }, { hosting }) => {
      const { username: name, full_name: fullName, ...rest } = body
      return hosting.accounts.createUser(
        { ...rest, name, fullName, visibility: f.visibilityIn(rest.visibility) },
        { client: client(), by: user },
      )
    },
  }),
  adminUsers.patch('adminEditUser', '/{username}', {
    summary: 'Change a user',
    body: EditUserOption,
    of: userView,
    run: async ({ user, params, body, client }, { hosting }) => {
      const { full_name: fullName, prohibit_login, ...rest } = body
      const account = await hosting.accounts.byName(params.username)
      if (account?.kind !== 'user') return undefined
      return hosting.accounts.edit(
        account.id,
        { ...rest, fullName, active: activeIn(body), visibility: f.visibilityIn(rest.visibility) },
        { client: client(), by: user },
      )
    },
  }),
  adminUsers.delete('adminDeleteUser', '/{username}', {
    summary:
      'Delete a user; with `purge=true` also what the user owns, organizations without another owner included',
    query: v.object({
      purge: f.optionalQuery(v.boolean(), 'Whether to delete what the user owns, too.'),
    }),
    also: [422],
    run: async ({ user, params, query }, { hosting }) => {
      const account = await hosting.accounts.byName(params.username)
      if (account?.kind !== 'user') return undefined
      return hosting.accounts.remove(account.id, { purge: query.purge === true, by: user })
    },
  }),
]
