/** Users with whom a repository is shared. */
import * as v from 'valibot'
import type { Level } from '../../records/schema/index.ts'
import { example, text } from '../fields.ts'
import { at } from '../route.ts'
import { presentUser, User, userView } from '../users.ts'
import { every } from '../view.ts'

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

const repositories = at('/repos/{owner}/{repo}', { scope: 'repository', reads: 'required' })

export const collaboratorRoutes = [
  repositories.list('repoListCollaborators', '/collaborators', {
    summary: 'The users with whom a repository is shared',
    of: userView,
    run: ({ user, repository, page }, { hosting }) => hosting.collaborators.list(user, repository, page),
  }),
  repositories.get('repoCheckCollaborator', '/collaborators/{collaborator}', {
    summary: 'Whether a repository is shared with a user: 204 when so, 404 otherwise',
    run: ({ user, repository, params }, { hosting }) =>
      hosting.collaborators.has(user, repository, params.collaborator),
  }),
  repositories.put('repoAddCollaborator', '/collaborators/{collaborator}', {
    summary: 'Share a repository with a user, to read, write (when absent) or administer it',
    body: v.object({ permission: GivenPermission }),
    also: [409],
    run: ({ user, repository, params, body }, { hosting }) =>
      hosting.collaborators.set(user, repository, params.collaborator, levelIn(body.permission)),
  }),
  repositories.delete('repoDeleteCollaborator', '/collaborators/{collaborator}', {
    summary: 'End sharing a repository with a user; users can end it for themselves',
    run: ({ user, repository, params }, { hosting }) =>
      hosting.collaborators.remove(user, repository, params.collaborator),
  }),
  repositories.get('repoGetRepoPermissions', '/collaborators/{collaborator}/permission', {
    summary:
      'What a user may do with a repository; users ask for themselves, those who administer it for everyone',
    of: CollaboratorPermission,
    run: async (request, { hosting }) => {
      const { user, repository, params } = request
      const found = await hosting.collaborators.permission(user, repository, params.collaborator)
      if (found === undefined) return undefined
      const { permission } = found
      return { permission, role_name: permission, user: presentUser(found.user, request) }
    },
  }),
  repositories.get('repoGetReviewers', '/reviewers', {
    summary: 'The users who were given a right to read a repository, by name',
    of: every(userView),
    run: ({ user, repository }, { hosting }) => hosting.collaborators.withRight(user, repository, 'read'),
  }),
  repositories.get('repoGetAssignees', '/assignees', {
    summary: 'The users who were given a right to write to a repository, by name',
    of: every(userView),
    run: ({ user, repository }, { hosting }) => hosting.collaborators.withRight(user, repository, 'write'),
  }),
]
