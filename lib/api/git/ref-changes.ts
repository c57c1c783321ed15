import * as v from 'valibot'
import { authorizeRepositoryAdmin } from '../../accounts/authorize.ts'
import { now } from '../../clock.ts'
import { AllotError } from '../../errors.ts'
import {
  createBranch,
  createTag,
  deleteBranch,
  deleteTag,
  moveBranch,
  renameBranch,
} from '../../repositories/contents/ref-changes.ts'
import { example, shortText } from '../fields.ts'
import { openForPush, repositories } from './access.ts'
import { Branch, presentBranches } from './branches.ts'
import { presentTags, Tag } from './tags.ts'

const name = example(v.pipe(shortText, v.minLength(1)), 'feature')

export const branchChangeRoutes = [
  repositories.post('repoCreateBranch', '/branches', {
    summary: 'Create a branch',
    body: v.object({
      new_branch_name: name,
      /** Branch, tag or commit; the default branch when absent. */
      old_ref_name: v.optional(shortText),
      old_branch_name: v.optional(shortText),
    }),
    of: Branch,
    also: [409],
    run: async (request, services) => {
      const { body } = request
      const { open, pusher } = await openForPush(services, request)
      const from = body.old_ref_name || body.old_branch_name || ''
      const created = await createBranch(open, pusher, body.new_branch_name, from)
      return (await presentBranches(services, request, open, [created]))[0]
    },
  }),
  repositories.put('repoUpdateBranch', '/branches/{branch}', {
    takesRest: true,
    summary: 'Move a branch to another commit',
    body: v.object({
      new_commit_id: example(v.pipe(shortText, v.minLength(1)), '2e1cfa82b035c26cbbbdae632cea070514eb8b77'),
      old_commit_id: v.optional(shortText),
      force: v.optional(v.boolean()),
    }),
    also: [409],
    run: async (request, services) => {
      const { params, body } = request
      const { open, pusher } = await openForPush(services, request)
      const { new_commit_id: to, old_commit_id: expected = '', force: isForced = false } = body
      return moveBranch(open, pusher, params.branch, { to, expected, isForced })
    },
  }),
  repositories.patch('repoRenameBranch', '/branches/{branch}', {
    takesRest: true,
    summary: 'Give a branch another name',
    body: v.object({ name }),
    also: [409],
    run: async (request, services) => {
      const { user, params, body } = request
      const { open, pusher } = await openForPush(services, request)
      const names = { from: params.branch, to: body.name }
      const authorize = authorizeRepositoryAdmin(user, params.owner, params.repo)
      if (names.from === open.repository.defaultBranch) await services.store.read(authorize)
      const makeDefault = () =>
        services.hosting.repositories.edit(authorize, { defaultBranch: body.name }, user.id)
      return renameBranch(open, pusher, names, makeDefault)
    },
  }),
  repositories.delete('repoDeleteBranch', '/branches/{branch}', {
    takesRest: true,
    summary: 'Delete a branch other than the default one',
    also: [409],
    run: async (request, services) => {
      const { open, pusher } = await openForPush(services, request)
      return deleteBranch(open, pusher, request.params.branch)
    },
  }),
]

export const tagChangeRoutes = [
  repositories.post('repoCreateTag', '/tags', {
    summary: 'Create a tag, an annotated one if there is a message',
    body: v.object({
      tag_name: example(v.pipe(shortText, v.minLength(1)), 'v1.0'),
      message: v.optional(example(v.pipe(v.string(), v.maxLength(64 * 1024)), 'Version 1.0')),
      target: v.optional(shortText),
    }),
    of: Tag,
    also: [409],
    run: async (request, services) => {
      const { body } = request
      const { open, pusher, author } = await openForPush(services, request)
      const created = await createTag(open, pusher, {
        name: body.tag_name,
        target: body.target ?? '',
        message: body.message?.trim() ?? '',
        tagger: { ...author, time: now(), offset: 0 },
      })
      return (await presentTags(services, request, open, [created]))[0]
    },
  }),
  repositories.delete('repoDeleteTag', '/tags/{tag}', {
    takesRest: true,
    summary: 'Delete a tag that no release is of',
    also: [409],
    run: async (request, services) => {
      const { user, repository, params } = request
      const { tag } = params
      const { open, pusher } = await openForPush(services, request)
      if ((await services.hosting.releases.find(user, repository, { tag })) !== undefined)
        throw new AllotError('conflict', `the tag ${tag} belongs to a release: delete the release first`)
      return deleteTag(open, pusher, tag)
    },
  }),
]
