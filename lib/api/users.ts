import * as v from 'valibot'
import { visibleAccount } from '../accounts/find.ts'
import { noreplyAddress, OPTIONAL_EMAIL } from '../accounts/names.ts'
import { AllotError } from '../errors.ts'
import { accountPage } from '../host-pages/html-pages.ts'
import { Empty, Forbidden, NotFound, ValidationError } from '../http/index.ts'
import type { Page } from '../records/pages.ts'
import { type Account, accounts, Visibility } from '../records/schema/index.ts'
import { type Profile, profileOf } from '../repositories/lists.ts'
import {
  acceptedBooleans,
  emailText,
  example,
  fullNameText,
  GivenVisibility,
  idQuery,
  locationText,
  number,
  parameter,
  shortText,
  Time,
  text,
  timestamp,
  visibilityIn,
  wholeNumber,
} from './fields.ts'
import { adminRead, adminWrite, type Recipient, reply, replyEmpty, replyPage, route } from './route.ts'

export const User = v.object({
  id: number(2),
  login: text('alice'),
  full_name: text('Alice'),
  email: text('alice@noreply.code.example.org'),
  avatar_url: text('https://code.example.org/avatars/alice'),
  html_url: text('https://code.example.org/alice'),
  is_admin: v.boolean(),
  active: v.boolean(),
  created: Time,
  location: text(''),
  website: text('https://alice.example.org'),
  description: text(''),
  visibility: Visibility,
  username: text('alice'),
  followers_count: v.optional(v.number()),
  following_count: v.optional(v.number()),
  starred_repos_count: v.optional(v.number()),
})
export type User = v.InferOutput<typeof User>

type UserRecipient = Omit<Recipient, 'apiUrl'>

/** The email address and the roles of a user are shown to the user and to administrators only. */
export const presentUser = (account: Account, { user, baseUrl, htmlUrls }: UserRecipient): User => {
  const isPrivate = user !== null && (user.admin || user.id === account.id)
  return {
    id: account.id,
    login: account.name,
    full_name: account.fullName,
    email: emailOf(account, isPrivate, baseUrl),
    avatar_url: avatarUrl(account, { baseUrl, htmlUrls }),
    html_url: htmlUrls.of(accountPage(account), baseUrl),
    // The login of a host decides for each request.
    is_admin: user?.id === account.id ? user.admin : isPrivate && account.admin,
    active: isPrivate && account.active,
    created: timestamp(account.createdAt),
    location: account.location,
    website: account.website,
    description: account.description,
    visibility: account.visibility,
    username: account.name,
  }
}

/** Replies with a page of users. */
export const replyUsers = (request: UserRecipient, page: Page<Account>) =>
  replyPage(page, (account) => presentUser(account, request))

/** The address that is shown in the place of a hidden one. */
const emailOf = (account: Account, isPrivate: boolean, baseUrl: string): string => {
  if (account.kind === 'organization') return ''
  return isPrivate && account.email !== '' ? account.email : noreplyAddress(account.name, hostNameOf(baseUrl))
}

export const hostNameOf = (baseUrl: string): string => new URL(baseUrl).hostname

/** The image of the host, or that of the name. A hash of the email would confirm a guess of it. */
export const avatarUrl = (
  { name }: Account,
  { baseUrl, htmlUrls }: Pick<Recipient, 'baseUrl' | 'htmlUrls'>,
): string => htmlUrls.avatar(name) ?? `${baseUrl}/avatars/${name}`

const presentProfile = (
  { account, followers, following, starred }: Profile,
  recipient: UserRecipient,
): User => ({
  ...presentUser(account, recipient),
  followers_count: followers,
  following_count: following,
  starred_repos_count: starred,
})

/** The signed-in account was deleted after the request was authenticated. */
export const accountDeleted = () => new AllotError('unauthenticated', 'the signed-in account was deleted')

export const userRoutes = [
  route({
    method: 'GET',
    path: '/user',
    operationId: 'userGetCurrent',
    tag: 'user',
    summary: 'The signed-in user',
    auth: 'required',
    scope: 'read:user',
    cacheable: true,
    responses: { 200: User },
    handle: (request) => {
      const { user, cached } = request
      return cached(async (tx) => {
        const account = await accounts.get(tx, [user.id])
        if (account === undefined) throw accountDeleted()
        return reply(200, presentProfile(await profileOf(tx, user, account), request))
      })
    },
  }),
  route({
    method: 'GET',
    path: '/users/search',
    operationId: 'userSearch',
    tag: 'user',
    summary: 'Search users by a part of the login or full name',
    auth: 'optional',
    scope: 'read:user',
    paging: 'pages',
    query: v.object({
      q: v.optional(parameter(shortText, 'Part of the login or of the full name.')),
      uid: idQuery('Id of the only user to find.'),
    }),
    // The specification's UserList is the bare array; Forgejo wraps it.
    responses: { 200: v.union([v.array(User), v.object({ ok: v.boolean(), data: v.array(User) })]) },
    handle: async (request, { hosting, dialect }) => {
      const { user, query, page } = request
      const found = await hosting.search.users(user, { q: query.q, id: query.uid || undefined }, page)
      const list = replyUsers(request, found)
      return dialect === 'specification' ? list : { ...list, body: { ok: true, data: list.body } }
    },
  }),
  route({
    method: 'GET',
    path: '/users/{username}',
    operationId: 'userGet',
    tag: 'user',
    summary: 'A user',
    auth: 'optional',
    scope: 'read:user',
    cacheable: true,
    responses: { 200: User, 404: NotFound },
    handle: (request) => {
      const { user, params, cached } = request
      return cached(async (tx) => {
        const account = await visibleAccount(tx, user, params.username)
        if (account === undefined) return reply(404)
        return reply(200, presentProfile(await profileOf(tx, user, account), request))
      })
    },
  }),
]

const emailField = v.pipe(emailText, v.regex(OPTIONAL_EMAIL, 'expected an email address'))

/** Members that clients of Forgejo send and Allot ignores; like every member, they must have their type. */
const ignoredMembers = {
  source_id: v.optional(wholeNumber),
  login_name: v.optional(shortText),
}

const CreateUserOption = v.object({
  ...ignoredMembers,
  username: text('alice'),
  email: v.optional(example(emailField, 'alice@example.org')),
  full_name: v.optional(example(fullNameText, 'Alice')),
  password: v.optional(shortText),
  visibility: GivenVisibility,
  ...acceptedBooleans('must_change_password', 'restricted', 'send_notify'),
})

const EditUserOption = v.object({
  ...ignoredMembers,
  email: v.optional(emailField),
  full_name: v.optional(fullNameText),
  password: v.optional(shortText),
  website: v.optional(shortText),
  description: v.optional(shortText),
  location: v.optional(locationText),
  admin: v.optional(example(v.boolean(), true)),
  active: v.optional(v.boolean()),
  prohibit_login: v.optional(v.boolean()),
  visibility: GivenVisibility,
  ...acceptedBooleans(
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

export const adminUserRoutes = [
  route({
    ...adminRead,
    method: 'GET',
    path: '/admin/users',
    operationId: 'adminSearchUsers',
    summary: 'All users',
    paging: 'pages',
    responses: { 200: v.array(User), 403: Forbidden },
    handle: async (request, { hosting }) =>
      replyUsers(request, await hosting.accounts.list('user', request.page)),
  }),
  route({
    ...adminWrite,
    method: 'POST',
    path: '/admin/users',
    operationId: 'adminCreateUser',
    summary: 'Create a user',
    body: CreateUserOption,
    responses: { 201: User, 403: Forbidden, 422: ValidationError },
    handle: async (request, { hosting }) => {
      const { username: name, full_name: fullName, ...rest } = request.body
      const account = await hosting.accounts.createUser(
        { ...rest, name, fullName, visibility: visibilityIn(rest.visibility) },
        { client: request.client(), by: request.user },
      )
      return reply(201, presentUser(account, request))
    },
  }),
  route({
    ...adminWrite,
    method: 'PATCH',
    path: '/admin/users/{username}',
    operationId: 'adminEditUser',
    summary: 'Change a user',
    body: EditUserOption,
    responses: { 200: User, 403: Forbidden, 404: NotFound, 422: ValidationError },
    handle: async (request, { hosting }) => {
      const { full_name: fullName, prohibit_login, ...rest } = request.body
      const account = await hosting.accounts.byName(request.params.username)
      if (account?.kind !== 'user') return reply(404)
      const edited = await hosting.accounts.edit(
        account.id,
        { ...rest, fullName, active: activeIn(request.body), visibility: visibilityIn(rest.visibility) },
        { client: request.client(), by: request.user },
      )
      return edited === undefined ? reply(404) : reply(200, presentUser(edited, request))
    },
  }),
  route({
    ...adminWrite,
    method: 'DELETE',
    path: '/admin/users/{username}',
    operationId: 'adminDeleteUser',
    summary:
      'Delete a user; with `purge=true` also what the user owns, organizations without another owner included',
    query: v.object({
      purge: v.optional(parameter(v.boolean(), 'Whether to delete what the user owns, too.')),
    }),
    responses: { 204: Empty, 403: Forbidden, 404: NotFound, 422: ValidationError },
    handle: async ({ user, params, query }, { hosting }) => {
      const account = await hosting.accounts.byName(params.username)
      if (account?.kind !== 'user') return reply(404)
      return replyEmpty(await hosting.accounts.remove(account.id, { purge: query.purge === true, by: user }))
    },
  }),
]
