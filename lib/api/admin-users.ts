import * as v from 'valibot'
import { Empty, Forbidden, NotFound, ValidationError } from '../http/index.ts'
import { acceptedBooleans, GivenVisibility, visibilityIn } from './fields.ts'
import { userPage } from './list-response.ts'
import { reply, route } from './route.ts'
import { User, userResource } from './user-schema.ts'

const email = v.pipe(
  v.string(),
  v.maxLength(254),
  v.regex(/^$|^[^\s@<>]+@[^\s@<>]+$/, 'expected an email address'),
)
const shortText = v.pipe(v.string(), v.maxLength(255))

/** Members that clients of a Forgejo send. Allot does nothing with them; like every member, they must have their type. */
const forgejoMembers = {
  must_change_password: v.optional(v.boolean()),
  send_notify: v.optional(v.boolean()),
  source_id: v.optional(v.pipe(v.number(), v.safeInteger())),
  login_name: v.optional(shortText),
}

const CreateUserOption = v.object({
  ...forgejoMembers,
  username: v.string(),
  email: v.optional(email),
  full_name: v.optional(v.pipe(v.string(), v.maxLength(100))),
  password: v.optional(shortText),
  visibility: v.optional(GivenVisibility),
  ...acceptedBooleans('must_change_password', 'restricted', 'send_notify'),
})

const EditUserOption = v.object({
  ...forgejoMembers,
  email: v.optional(email),
  full_name: v.optional(v.pipe(v.string(), v.maxLength(100))),
  password: v.optional(shortText),
  website: v.optional(shortText),
  description: v.optional(shortText),
  location: v.optional(v.pipe(v.string(), v.maxLength(50))),
  admin: v.optional(v.boolean()),
  active: v.optional(v.boolean()),
  prohibit_login: v.optional(v.boolean()),
  visibility: v.optional(GivenVisibility),
  ...acceptedBooleans(
    'allow_create_organization',
    'allow_git_hook',
    'allow_import_local',
    'hide_email',
    'must_change_password',
    'restricted',
  ),
})

export const adminUserRoutes = [
  route({
    method: 'GET',
    path: '/admin/users',
    operationId: 'adminSearchUsers',
    tag: 'admin',
    summary: 'All users',
    auth: 'admin',
    scope: 'read:admin',
    paging: 'lenient',
    responses: { 200: v.array(User), 403: Forbidden },
    handle: async (request, { hosting }) =>
      userPage(request, await hosting.accounts.list('user', request.page)),
  }),
  route({
    method: 'POST',
    path: '/admin/users',
    operationId: 'adminCreateUser',
    tag: 'admin',
    summary: 'Create a user',
    auth: 'admin',
    scope: 'write:admin',
    body: CreateUserOption,
    responses: { 201: User, 403: Forbidden, 422: ValidationError },
    handle: async ({ user, body, baseUrl, client }, { hosting }) => {
      const { username: name, full_name: fullName, ...rest } = body
      const visibility = visibilityIn(body.visibility)
      const account = await hosting.accounts.createUser({ ...rest, name, fullName, visibility }, client)
      return reply(201, userResource(account, user, baseUrl))
    },
  }),
  route({
    method: 'PATCH',
    path: '/admin/users/{username}',
    operationId: 'adminEditUser',
    tag: 'admin',
    summary: 'Change a user',
    auth: 'admin',
    scope: 'write:admin',
    body: EditUserOption,
    responses: { 200: User, 403: Forbidden, 404: NotFound, 422: ValidationError },
    handle: async ({ user, params, body, baseUrl, client }, { hosting }) => {
      const { full_name: fullName, prohibit_login: prohibited, ...rest } = body
      const account = await hosting.accounts.byName(params.username)
      if (account?.kind !== 'user') return reply(404)
      const active = prohibited === true ? false : (body.active ?? (prohibited === false ? true : undefined))
      const visibility = visibilityIn(body.visibility)
      const edited = await hosting.accounts.edit(
        account.id,
        { ...rest, fullName, active, visibility },
        client,
      )
      return edited === undefined ? reply(404) : reply(200, userResource(edited, user, baseUrl))
    },
  }),
  route({
    method: 'DELETE',
    path: '/admin/users/{username}',
    operationId: 'adminDeleteUser',
    tag: 'admin',
    summary:
      'Delete a user; with `purge=true` also what the user owns, organizations without another owner included',
    auth: 'admin',
    scope: 'write:admin',
    query: v.object({ purge: v.optional(v.boolean()) }),
    responses: { 204: Empty, 403: Forbidden, 404: NotFound, 422: ValidationError },
    handle: async ({ params, query }, { hosting }) => {
      const account = await hosting.accounts.byName(params.username)
      if (account?.kind !== 'user') return reply(404)
      return (await hosting.removeAccount(account.id, { purge: query.purge === true }))
        ? reply(204)
        : reply(404)
    },
  }),
]
