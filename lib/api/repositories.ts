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
import { Empty, ErrorBody, Forbidden, NotFound, ValidationError } from '../http/index.ts'
import type { Account } from '../records/schema/index.ts'
import { TEXT_LIMITS } from '../records/text-limits.ts'
import type { NewRepository } from '../repositories/git-data.ts'
import type { RepositoryEdit } from '../repositories/repository-edit.ts'
import { acceptedBooleans, type Complete, example, repositoryId, text } from './fields.ts'
import { presentRepositories, Repository, readRepository, replyRepository } from './repository-presenter.ts'
import { type Recipient, reply, replyEmpty, repositoryWrite, route, type Services } from './route.ts'
import { accountDeleted, hostNameOf } from './users.ts'

const LIMITS = TEXT_LIMITS.repository
const description = v.pipe(v.string(), v.maxLength(LIMITS.description))
const template = v.pipe(v.string(), v.maxLength(100))

const CreateRepoOption = v.object({
  name: text('app'),
  description: v.optional(example(description, 'An application')),
  private: v.optional(example(v.boolean(), true)),
  auto_init: v.optional(example(v.boolean(), true)),
  gitignores: v.optional(v.pipe(v.string(), v.maxLength(1000))),
  license: v.optional(template),
  readme: v.optional(template),
  default_branch: v.optional(v.pipe(v.string(), v.maxLength(LIMITS.defaultBranch))),
  // Refused, not ignored: a client that asks for SHA-256 cannot push to a SHA-1 repository.
  object_format_name: v.optional(v.picklist(['', 'sha1'], 'must be sha1, the only format of objects')),
  ...acceptedBooleans('template'),
})
type CreateRepoOption = v.InferOutput<typeof CreateRepoOption>

const EditRepoOption = v.object({
  name: v.optional(v.string()),
  description: v.optional(example(description, 'An application')),
  website: v.optional(v.pipe(v.string(), v.maxLength(LIMITS.website))),
  private: v.optional(v.boolean()),
  archived: v.optional(v.boolean()),
  default_branch: v.optional(v.pipe(v.string(), v.maxLength(LIMITS.defaultBranch))),
  ...acceptedBooleans(
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

const newRepository = (body: CreateRepoOption, baseUrl: string): Complete<NewRepository> => ({
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

const editIn = (body: v.InferOutput<typeof EditRepoOption>): Complete<RepositoryEdit> => ({
  name: body.name,
  description: body.description,
  website: body.website,
  private: body.private,
  archived: body.archived,
  defaultBranch: body.default_branch || undefined,
})

/** @param owner an organization; the signed-in user when absent */
const create = async (
  services: Services,
  request: Recipient & { user: Identity; body: CreateRepoOption },
  owner?: Authorizer<Account>,
) => {
  const { accounts, repositories } = services.hosting
  const creator = await accounts.byId(request.user.id)
  if (creator === undefined) throw accountDeleted()
  const record = await repositories.create(
    owner ?? creator,
    creator,
    newRepository(request.body, request.baseUrl),
  )
  return reply(201, await readRepository(services, request, record, { isNew: true }))
}

const created = { 201: Repository, 403: Forbidden, 422: ValidationError } as const
const taken = { 409: ErrorBody } as const

export const newRepositoryRoutes = [
  route({
    method: 'POST',
    path: '/org/{org}/repos',
    operationId: 'createOrgRepoDeprecated',
    tag: 'organization',
    summary: 'Create a repository in an organization',
    auth: 'required',
    scope: 'write:organization',
    body: CreateRepoOption,
    responses: created,
    forgejoResponses: taken,
    handle: (request, services) => {
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
  route({
    method: 'POST',
    path: '/orgs/{org}/repos',
    operationId: 'createOrgRepo',
    tag: 'organization',
    summary: 'Create a repository in an organization',
    auth: 'required',
    scope: 'write:organization',
    body: CreateRepoOption,
    responses: { ...created, ...taken, 404: NotFound },
    handle: (request, services) =>
      create(services, request, authorizeCreateIn(request.user, request.params.org)),
  }),
  route({
    method: 'POST',
    path: '/user/repos',
    operationId: 'createCurrentUserRepo',
    tag: 'repository',
    summary: 'Create a repository of the signed-in user',
    auth: 'required',
    scope: ['write:user', 'write:repository'],
    body: CreateRepoOption,
    responses: { ...created, ...taken },
    handle: (request, services) => create(services, request),
  }),
]

export const repositoryRoutes = [
  route({
    method: 'GET',
    path: '/repositories/{id}',
    operationId: 'repoGetByID',
    tag: 'repository',
    summary: 'A repository, by its id',
    auth: 'optional',
    scope: 'read:repository',
    params: v.object({ id: repositoryId }),
    responses: { 200: Repository, 404: NotFound },
    handle: async (request, services) => {
      const found = await services.hosting.repositories.findById(request.user, request.params.id)
      return replyRepository(services, request, 200, found)
    },
  }),
  route({
    method: 'GET',
    path: '/repos/{owner}/{repo}',
    operationId: 'repoGet',
    tag: 'repository',
    summary: 'A repository',
    auth: 'optional',
    scope: 'read:repository',
    cacheable: true,
    responses: { 200: Repository, 404: NotFound },
    handle: (request) => {
      const { user, params, cached } = request
      return cached(async (tx) => {
        const found = await readableRepository(tx, user, params.owner, params.repo)
        const [repository] = found === undefined ? [] : await presentRepositories(tx, request, [found])
        return repository === undefined ? reply(404) : reply(200, repository)
      })
    },
  }),
  route({
    ...repositoryWrite,
    method: 'PATCH',
    path: '/repos/{owner}/{repo}',
    operationId: 'repoEdit',
    summary: 'Change a repository: its name, description, privacy',
    body: EditRepoOption,
    responses: { 200: Repository, 403: Forbidden, 404: NotFound, 409: ErrorBody, 422: ValidationError },
    handle: async (request, services) => {
      const { user, params, body } = request
      const edit = editIn(body)
      const { defaultBranch } = edit
      const authorize = authorizeRepositoryAdmin(user, params.owner, params.repo)
      if (defaultBranch !== undefined) {
        const repository = await services.store.read(authorize)
        if (repository !== undefined) await services.hosting.checkDefaultBranch(repository, defaultBranch)
      }
      const edited = await services.hosting.repositories.edit(authorize, edit, user.id)
      return replyRepository(services, request, 200, edited)
    },
  }),
  route({
    ...repositoryWrite,
    method: 'DELETE',
    path: '/repos/{owner}/{repo}',
    operationId: 'repoDelete',
    summary: 'Delete a repository, with everything that counts in it',
    responses: { 204: Empty, 403: Forbidden, 404: NotFound },
    handle: async ({ user, params }, { hosting }) =>
      replyEmpty(await hosting.repositories.remove(authorizeOwner(user, params.owner, params.repo), user.id)),
  }),
]
