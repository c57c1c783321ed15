/** Users with whom a repository is shared. */
import * as v from 'valibot'
import { Empty, ErrorBody, Forbidden, NotFound, ValidationError } from '../../http/index.ts'
import type { Level } from '../../records/schema/index.ts'
import { example, repositoryNameOf, repositoryParams, text } from '../fields.ts'
import { reply, replyEmpty, replyFound, repositoryWrite, route } from '../route.ts'
import { presentUser, replyUsers, User } from '../users.ts'

/** Clients written in Go send an empty string, or `null`, for a permission that is not set. */
const GivenPermission = v.optional(
  v.nullable(example(v.picklist(['read', 'write', 'admin', 'owner', '']), 'write')),
)

/** A collaborator cannot own the repository, so `owner` means `admin`, as with other servers of this API. */
const levelIn = (permission: v.InferOutput<typeof GivenPermission>): Level =>
  permission === 'owner' ? 'admin' : permission || 'write'

const CollaboratorPermission = v.object({
  permission: example(v.picklist(['none', 'read', 'write', 'admin', 'owner']), 'write'),
  role_name: text('write'),
  user: User,
})

const read = { auth: 'required', scope: 'read:repository', tag: 'repository' } as const

const listWithRight = (
  word: string,
  { right, ...words }: { operationId: string; summary: string; right: 'read' | 'write' },
) =>
  route({
    ...read,
    ...words,
    method: 'GET',
    path: `/repos/{owner}/{repo}/${word}`,
    params: v.object(repositoryParams),
    responses: { 200: v.array(User), 404: NotFound },
    handle: async (request, { hosting }) => {
      const { user, params } = request
      const found = await hosting.collaborators.withRight(user, repositoryNameOf(params), right)
      return replyFound(found, (users) => users.map((account) => presentUser(account, request)))
    },
  })

export const collaboratorRoutes = [
  route({
    ...read,
    method: 'GET',
    path: '/repos/{owner}/{repo}/collaborators',
    operationId: 'repoListCollaborators',
    summary: 'The users with whom a repository is shared',
    paging: 'pages',
    responses: { 200: v.array(User), 404: NotFound },
    handle: async (request, { hosting }) => {
      const name = repositoryNameOf(request.params)
      const found = await hosting.collaborators.list(request.user, name, request.page)
      return found === undefined ? reply(404) : replyUsers(request, found)
    },
  }),
  route({
    ...read,
    method: 'GET',
    path: '/repos/{owner}/{repo}/collaborators/{collaborator}',
    operationId: 'repoCheckCollaborator',
    summary: 'Whether a repository is shared with a user: 204 when so, 404 otherwise',
    responses: { 204: Empty, 404: NotFound },
    handle: async ({ user, params }, { hosting }) =>
      replyEmpty(await hosting.collaborators.has(user, repositoryNameOf(params), params.collaborator)),
  }),
  route({
    ...repositoryWrite,
    method: 'PUT',
    path: '/repos/{owner}/{repo}/collaborators/{collaborator}',
    operationId: 'repoAddCollaborator',
    summary: 'Share a repository with a user, to read, write (when absent) or administer it',
    body: v.object({ permission: GivenPermission }),
    responses: { 204: Empty, 403: Forbidden, 404: NotFound, 409: ErrorBody, 422: ValidationError },
    handle: async ({ user, params, body }, { hosting }) => {
      const level = levelIn(body.permission)
      const name = repositoryNameOf(params)
      return replyEmpty(await hosting.collaborators.set(user, name, params.collaborator, level))
    },
  }),
  route({
    ...repositoryWrite,
    method: 'DELETE',
    path: '/repos/{owner}/{repo}/collaborators/{collaborator}',
    operationId: 'repoDeleteCollaborator',
    summary: 'End sharing a repository with a user; users can end it for themselves',
    responses: { 204: Empty, 403: Forbidden, 404: NotFound },
    handle: async ({ user, params }, { hosting }) =>
      replyEmpty(await hosting.collaborators.remove(user, repositoryNameOf(params), params.collaborator)),
  }),
  route({
    ...read,
    method: 'GET',
    path: '/repos/{owner}/{repo}/collaborators/{collaborator}/permission',
    operationId: 'repoGetRepoPermissions',
    summary:
      'What a user may do with a repository; users ask for themselves, those who administer it for everyone',
    responses: { 200: CollaboratorPermission, 403: Forbidden, 404: NotFound },
    handle: async (request, { hosting }) => {
      const { user, params } = request
      const name = repositoryNameOf(params)
      const found = await hosting.collaborators.permission(user, name, params.collaborator)
      return replyFound(found, ({ user: collaborator, permission }) => ({
        permission,
        role_name: permission,
        user: presentUser(collaborator, request),
      }))
    },
  }),
  listWithRight('reviewers', {
    operationId: 'repoGetReviewers',
    summary: 'The users who were given a right to read a repository, by name',
    right: 'read',
  }),
  listWithRight('assignees', {
    operationId: 'repoGetAssignees',
    summary: 'The users who were given a right to write to a repository, by name',
    right: 'write',
  }),
]
