import * as v from 'valibot'
import { authorizeRepositoryAdmin } from '../../accounts/authorize.ts'
import { now } from '../../clock.ts'
import { AllotError } from '../../errors.ts'
import { Empty, ErrorBody, Forbidden, NotFound, ValidationError } from '../../http/index.ts'
import {
  createBranch,
  createTag,
  deleteBranch,
  deleteTag,
  moveBranch,
  renameBranch,
} from '../../repositories/contents/ref-changes.ts'
import { example, repositoryNameOf, shortText } from '../fields.ts'
import { reply, replyEmpty, repositoryWrite, route } from '../route.ts'
import { openForPush } from './access.ts'
import { Branch, presentBranches } from './branches.ts'
import { urlsOf } from './schema.ts'
import { presentTags, Tag } from './tags.ts'

const name = example(v.pipe(shortText, v.minLength(1)), 'feature')

const branch = {
  ...repositoryWrite,
  path: '/repos/{owner}/{repo}/branches/{branch}',
  takesRest: true,
} as const
const tag = { ...repositoryWrite, path: '/repos/{owner}/{repo}/tags/{tag}', takesRest: true } as const

export const branchChangeRoutes = [
  route({
    ...repositoryWrite,
    method: 'POST',
    path: '/repos/{owner}/{repo}/branches',
    operationId: 'repoCreateBranch',
    summary: 'Create a branch',
    body: v.object({
      new_branch_name: name,
      /** Branch, tag or commit; the default branch when absent. */
      old_ref_name: v.optional(shortText),
      old_branch_name: v.optional(shortText),
    }),
    responses: { 201: Branch, 403: Forbidden, 404: NotFound, 409: ErrorBody, 422: ValidationError },
    handle: async (request, services) => {
      const { body } = request
      const changeable = await openForPush(services, request)
      if (changeable === undefined) return reply(404)
      const { open, pusher } = changeable
      const from = body.old_ref_name || body.old_branch_name || ''
      const created = await createBranch(open, pusher, body.new_branch_name, from)
      const [presented] = await presentBranches(services, request, open, [created])
      return reply(201, presented!)
    },
  }),
  route({
    ...branch,
    method: 'PUT',
    operationId: 'repoUpdateBranch',
    summary: 'Move a branch to another commit',
    body: v.object({
      new_commit_id: example(v.pipe(shortText, v.minLength(1)), '2e1cfa82b035c26cbbbdae632cea070514eb8b77'),
      old_commit_id: v.optional(shortText),
      force: v.optional(v.boolean()),
    }),
    responses: { 204: Empty, 403: Forbidden, 404: NotFound, 409: ErrorBody, 422: ValidationError },
    handle: async (request, services) => {
      const { params, body } = request
      const changeable = await openForPush(services, request)
      if (changeable === undefined) return reply(404)
      const { new_commit_id: to, old_commit_id: expected = '', force: isForced = false } = body
      const { open, pusher } = changeable
      return replyEmpty(await moveBranch(open, pusher, params.branch, { to, expected, isForced }))
    },
  }),
  route({
    ...branch,
    method: 'PATCH',
    operationId: 'repoRenameBranch',
    summary: 'Give a branch another name',
    body: v.object({ name }),
    responses: { 204: Empty, 403: Forbidden, 404: NotFound, 409: ErrorBody, 422: ValidationError },
    handle: async (request, services) => {
      const { user, params, body } = request
      const changeable = await openForPush(services, request)
      if (changeable === undefined) return reply(404)
      const { open, pusher } = changeable
      const names = { from: params.branch, to: body.name }
      const authorize = authorizeRepositoryAdmin(user, params.owner, params.repo)
      if (names.from === open.repository.defaultBranch) await services.store.read(authorize)
      const makeDefault = () =>
        services.hosting.repositories.edit(authorize, { defaultBranch: body.name }, user.id)
      return replyEmpty(await renameBranch(open, pusher, names, makeDefault))
    },
  }),
  route({
    ...branch,
    method: 'DELETE',
    operationId: 'repoDeleteBranch',
    summary: 'Delete a branch other than the default one',
    responses: { 204: Empty, 403: Forbidden, 404: NotFound, 409: ErrorBody },
    handle: async (request, services) => {
      const changeable = await openForPush(services, request)
      if (changeable === undefined) return reply(404)
      return replyEmpty(await deleteBranch(changeable.open, changeable.pusher, request.params.branch))
    },
  }),
]

export const tagChangeRoutes = [
  route({
    ...repositoryWrite,
    method: 'POST',
    path: '/repos/{owner}/{repo}/tags',
    operationId: 'repoCreateTag',
    summary: 'Create a tag, an annotated one if there is a message',
    body: v.object({
      tag_name: example(v.pipe(shortText, v.minLength(1)), 'v1.0'),
      message: v.optional(example(v.pipe(v.string(), v.maxLength(64 * 1024)), 'Version 1.0')),
      target: v.optional(shortText),
    }),
    responses: { 201: Tag, 403: Forbidden, 404: NotFound, 409: ErrorBody, 422: ValidationError },
    handle: async (request, services) => {
      const { body } = request
      const changeable = await openForPush(services, request)
      if (changeable === undefined) return reply(404)
      const { open, pusher, author } = changeable
      const created = await createTag(open, pusher, {
        name: body.tag_name,
        target: body.target ?? '',
        message: body.message?.trim() ?? '',
        tagger: { ...author, time: now(), offset: 0 },
      })
      const [tag] = await presentTags(open, await urlsOf(services, open.repository, request), [created])
      return reply(201, tag!)
    },
  }),
  route({
    ...tag,
    method: 'DELETE',
    operationId: 'repoDeleteTag',
    summary: 'Delete a tag that no release is of',
    responses: { 204: Empty, 403: Forbidden, 404: NotFound, 409: ErrorBody },
    handle: async (request, services) => {
      const { user, params } = request
      const changeable = await openForPush(services, request)
      if (changeable === undefined) return reply(404)
      const released = await services.hosting.releases.find(user, repositoryNameOf(params), {
        tag: params.tag,
      })
      if (released !== undefined)
        throw new AllotError(
          'conflict',
          `the tag ${params.tag} belongs to a release: delete the release first`,
        )
      return replyEmpty(await deleteTag(changeable.open, changeable.pusher, params.tag))
    },
  }),
]
