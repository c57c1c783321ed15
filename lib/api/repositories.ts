import * as v from 'valibot'
import type { Identity } from '../accounts/access.ts'
import {
  type Authorizer,
  authorizeCreateIn,
  authorizeOwner,
  authorizeRepositoryAdmin,
} from '../accounts/authorize.ts'
import { readableRepository } from '../accounts/find.ts'
import { invalidMember } from '../errors.ts'
import { ErrorBody } from '../http/index.ts'
import type { Account } from '../records/schema/index.ts'
import { TEXT_LIMITS } from '../records/text-limits.ts'
import type { NewRepository } from '../repositories/git-data.ts'
import type { RepositoryEdit } from '../repositories/repository-edit.ts'
import * as f from './fields.ts'
import { bytes } from './quota/schema.ts'
import { repositoryView } from './repository-presenter.ts'
import { at, type Services } from './route.ts'
import { hostNameOf, stillThere } from './users.ts'

const LIMITS = TEXT_LIMITS.repository
const description = v.pipe(v.string(), v.maxLength(LIMITS.description))
const template = v.pipe(v.string(), v.maxLength(100))

const CreateRepoOption = v.object({
  name: f.text('app'),
  description: v.optional(f.example(description, 'An application')),
  private: v.optional(f.example(v.boolean(), true)),
  auto_init: v.optional(f.example(v.boolean(), true)),
  gitignores: v.optional(v.pipe(v.string(), v.maxLength(1000))),
  license: v.optional(template),
  readme: v.optional(template),
  default_branch: v.optional(v.pipe(v.string(), v.maxLength(LIMITS.defaultBranch))),
  // Refused, not ignored: a client that asks for SHA-256 cannot push to a SHA-1 repository.
  object_format_name: v.optional(v.picklist(['', 'sha1'], 'must be sha1, the only format of objects')),
  ...f.acceptedBooleans('template'),
})
type CreateRepoOption = v.InferOutput<typeof CreateRepoOption>

const EditRepoOption = v.object({
  name: v.optional(v.string()),
  description: v.optional(f.example(description, 'An application')),
  website: v.optional(v.pipe(v.string(), v.maxLength(LIMITS.website))),
  private: v.optional(v.boolean()),
  archived: v.optional(v.boolean()),
  default_branch: v.optional(v.pipe(v.string(), v.maxLength(LIMITS.defaultBranch))),
  ...f.acceptedBooleans(
    'allow_fast_forward_only_merge',
    'allow_manual_merge',
    'allow_merge_commits',
    'allow_rebase',
    'allow_rebase_explicit',
    'allow_rebase_update',
    'allow_squash_merge',
    'autodetect_manual_merge',
    'default_allow_maintainer_edit',
    'default_delete_branch_after_merge',
    'enable_prune',
    'has_actions',
    'has_issues',
    'has_packages',
    'has_projects',
    'has_pull_requests',
    'has_releases',
    'has_wiki',
    'ignore_whitespace_conflicts',
    'template',
  ),
})

const newRepository = (body: CreateRepoOption, baseUrl: string): f.Complete<NewRepository> => ({
  host: hostNameOf(baseUrl),
  name: body.name,
  description: body.description,
  private: body.private,
  archived: undefined,
  autoInit: body.auto_init,
  gitignores: body.gitignores,
  license: body.license,
  readme: body.readme,
  // Clients written in Go send an empty string when it is not set.
  defaultBranch: body.default_branch || undefined,
})

/** Topics have routes of their own. */
const editIn = (body: v.InferOutput<typeof EditRepoOption>): f.Complete<Omit<RepositoryEdit, 'topics'>> => ({
  name: body.name,
  description: body.description,
  website: body.website,
  private: body.private,
  archived: body.archived,
  defaultBranch: body.default_branch || undefined,
})

/** @param owner an organization; the signed-in user when absent */
const create = async (
  { hosting }: Services,
  { user, body, baseUrl }: { user: Identity; body: CreateRepoOption; baseUrl: string },
  owner?: Authorizer<Account>,
) => {
  const creator = stillThere(await hosting.accounts.byId(user.id))
  return hosting.repositories.create(owner ?? creator, creator, newRepository(body, baseUrl))
}

export const newRepositoryRoutes = [
  at('/org/{org}/repos', { scope: 'organization' }).post('createOrgRepoDeprecated', '', {
    summary: 'Create a repository in an organization',
    body: CreateRepoOption,
    of: repositoryView,
    also: { 404: undefined },
    forgejoResponses: { 409: ErrorBody },
    run: (request, services) => {
      const { user, params } = request
      const authorize = authorizeCreateIn(user, params.org)
      // The specification answers 422, not 404, for an organization that does not exist or is hidden from the
      // caller.
      return create(services, request, async (tx) => {
        const organization = await authorize(tx)
        if (organization === undefined)
          throw invalidMember('org', `there is no organization named ${params.org}`)
        return organization
      })
    },
  }),
  at('/orgs/{org}/repos', { scope: 'organization' }).post('createOrgRepo', '', {
    summary: 'Create a repository in an organization',
    body: CreateRepoOption,
    of: repositoryView,
    also: [409],
    run: (request, services) =>
      create(services, request, authorizeCreateIn(request.user, request.params.org)),
  }),
  at('/user/repos', { tag: 'repository', scope: ['user', 'repository'] }).post('createCurrentUserRepo', '', {
    summary: 'Create a repository of the signed-in user',
    body: CreateRepoOption,
    of: repositoryView,
    also: [409],
    run: (request, services) => create(services, request),
  }),
]

/** The size of git data before and after a clean-up. */
const CleanedUp = v.object({ size_before: f.example(bytes, 12_288), size_after: f.example(bytes, 8192) })

export type CleanedUp = v.InferOutput<typeof CleanedUp>

export const cleanUpRoutes = [
  at('/repos/{owner}/{repo}/gc', { scope: 'repository' }).post('repoCleanUp', '', {
    summary: 'Delete the git objects of a repository that nothing refers to and that are an hour old',
    of: CleanedUp,
    status: 200,
    run: async ({ user, params, client }, { store, hosting }) => {
      const before = await store.read(authorizeRepositoryAdmin(user, params.owner, params.repo))
      const after = before && (await hosting.git?.maintenance.cleanUp(before.id, client()))
      return after && { size_before: before.size, size_after: after.size }
    },
  }),
]

const rules = { scope: 'repository' } as const
const repositories = at('/repos/{owner}/{repo}', rules)

export const repositoryRoutes = [
  at('/repositories', { ...rules, ids: { id: f.repositoryId } }).get('repoGetByID', '/{id}', {
    summary: 'A repository, by its id',
    of: repositoryView,
    run: ({ user, params }, { hosting }) => hosting.repositories.findById(user, params.id),
  }),
  repositories.get('repoGet', '', {
    summary: 'A repository',
    cached: true,
    of: repositoryView,
    run: ({ user, params }, _services, tx) => readableRepository(tx, user, params.owner, params.repo),
  }),
  repositories.patch('repoEdit', '', {
    summary: 'Change a repository: its name, description, privacy',
    body: EditRepoOption,
    of: repositoryView,
    also: [409],
    run: async ({ user, params, body }, { store, hosting }) => {
      const edit = editIn(body)
      const { defaultBranch } = edit
      const authorize = authorizeRepositoryAdmin(user, params.owner, params.repo)
      if (defaultBranch !== undefined) {
        const repository = await store.read(authorize)
        if (repository !== undefined) await hosting.checkDefaultBranch(repository, defaultBranch)
      }
      return hosting.repositories.edit(authorize, edit, user.id)
    },
  }),
  repositories.delete('repoDelete', '', {
    summary: 'Delete a repository, with everything that counts in it',
    run: ({ user, params }, { hosting }) =>
      hosting.repositories.remove(authorizeOwner(user, params.owner, params.repo), user.id),
  }),
]
