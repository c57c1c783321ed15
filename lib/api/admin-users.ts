import * as v from 'valibot'
import { Empty, Forbidden, NotFound, ValidationError } from '../http/index.ts'
import { acceptedBooleans, GivenVisibility, shortText, visibilityIn, wholeNumber } from './fields.ts'
import { reply, replyEmpty, replyPage, route } from './route.ts'
import { presentUser, User } from './users.ts'

const emailField = v.pipe(
  v.string(),
  v.maxLength(254),
  v.regex(/^$|^[^\s@<>]+@[^\s@<>]+$/, 'expected an email address'),
)
const fullNameField = v.pipe(v.string(), v.maxLength(100))

/** Members that clients of Forgejo send and Allot ignores; like every member, they must have their type. */
const ignoredMembers = {
  must_change_password: v.optional(v.boolean()),
  send_notify: v.optional(v.boolean()),
  source_id: v.optional(wholeNumber),
  login_name: v.optional(shortText),
}

const CreateUserOption = v.object({
  ...ignoredMembers,
  username: v.string(),
  email: v.optional(emailField),
  full_name: v.optional(fullNameField),
  password: v.optional(shortText),
  visibility: GivenVisibility,
  ...acceptedBooleans('must_change_password', 'restricted', 'send_notify'),
})

const EditUserOption = v.object({
  ...ignoredMembers,
  email: v.optional(emailField),
  full_name: v.optional(fullNameField),
  password: v.optional(shortText),
  website: v.optional(shortText),
  description: v.optional(shortText),
  location: v.optional(v.pipe(v.string(), v.maxLength(50))),
  admin: v.optional(v.boolean()),
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
  ),
})

/** `prohibit_login` wins over `active`, which it is the opposite of. */
const activeIn = ({
  active,
  prohibit_login: isProhibited,
}: v.InferOutput<typeof EditUserOption>): boolean | undefined =>
  isProhibited === true ? false : (active ?? (isProhibited === false ? true : undefined))

const read = { auth: 'admin', scope: 'read:admin', tag: 'admin' } as const
const write = { auth: 'admin', scope: 'write:admin', tag: 'admin' } as const

export const adminUserRoutes = [
  route({
    ...read,
    method: 'GET',
    path: '/admin/users',
    operationId: 'adminSearchUsers',
    summary: 'All users',
    paging: 'lenient',
    responses: { 200: v.array(User), 403: Forbidden },
    handle: async (request, { hosting }) => {
      const users = await hosting.accounts.list('user', request.page)
      return replyPage(users, (account) => presentUser(account, request))
    },
  }),
  route({
    ...write,
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
        request.client,
      )
      return reply(201, presentUser(account, request))
    },
  }),
  route({
    ...write,
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
        request.client,
      )
      return edited === undefined ? reply(404) : reply(200, presentUser(edited, request))
    },
  }),
  route({
    ...write,
    method: 'DELETE',
    path: '/admin/users/{username}',
    operationId: 'adminDeleteUser',
    summary:
      'Delete a user; with `purge=true` also what the user owns, organizations without another owner included',
    query: v.object({ purge: v.optional(v.boolean()) }),
    responses: { 204: Empty, 403: Forbidden, 404: NotFound, 422: ValidationError },
    handle: async ({ params, query }, { hosting }) => {
      const account = await hosting.accounts.byName(params.username)
      if (account?.kind !== 'user') return reply(404)
      return replyEmpty(await hosting.accounts.remove(account.id, { purge: query.purge === true }))
    },
  }),
]
