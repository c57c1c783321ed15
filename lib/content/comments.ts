import { existingAccount, readableRepository, type Viewer } from '../accounts/access.ts'
import { checkTexts } from '../accounts/names.ts'
import { now } from '../clock.ts'
import type { Page, Slice } from '../records/collection.ts'
import { type Comment, comments, type Issue, issues } from '../records/schema/index.ts'
import type { RepositoryName } from '../repositories/relations.ts'
import {
  type InRepository,
  requireAuthorOrWriter,
  type SignedIn,
  writeAccess,
} from '../repositories/write-access.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { type AttachmentParts, removeAttachments } from './attachment-records.ts'
import { issueIn } from './issues.ts'

/** A comment with the issue that it is on. */
export type OnIssue<T> = InRepository<T & { readonly issue: Issue }>

/** Comments of issues. Methods return undefined for what does not exist or the viewer cannot see. */
export interface Comments {
  /** Everyone who can read the repository can comment. */
  create(
    viewer: SignedIn,
    path: RepositoryName,
    number: number,
    body: string,
  ): Promise<OnIssue<{ comment: Comment }> | undefined>
  find(viewer: Viewer, path: RepositoryName, id: number): Promise<OnIssue<{ comment: Comment }> | undefined>
  /** Comments of an issue, oldest first. */
  list(
    viewer: Viewer,
    path: RepositoryName,
    number: number,
    slice: Slice,
  ): Promise<OnIssue<{ page: Page<Comment> }> | undefined>
  /** @throws AllotError forbidden unless the viewer is the author or can write to the repository */
  edit(
    viewer: SignedIn,
    path: RepositoryName,
    id: number,
    body: string,
  ): Promise<OnIssue<{ comment: Comment }> | undefined>
  /** @throws AllotError forbidden as for `edit` */
  remove(viewer: SignedIn, path: RepositoryName, id: number): Promise<boolean>
}

export const createComments = (parts: AttachmentParts): Comments => {
  const { store, files } = parts
  return {
    async create(viewer, path, number, body) {
      checkTexts('comment', { body })
      const id = await store.sequences.next('comment')
      return store.write(async (tx) => {
        const access = await writeAccess(tx, viewer, path, 'issue')
        const before = access && (await issueIn(tx, access.repository, number))
        if (access === undefined || before === undefined) return undefined
        const { id: author } = await existingAccount(tx, viewer.id)
        const comment: Comment = {
          ...{ id, issue: before.id, body, author },
          ...{ createdAt: now(), updatedAt: now() },
        }
        const issue = { ...before, updatedAt: now() }
        await comments.save(tx, comment)
        await issues.save(tx, issue)
        return { repository: access.repository, issue, comment }
      })
    },
    find: (viewer, path, id) =>
      store.read(async (tx) => {
        const repository = await readableRepository(tx, viewer, path.owner, path.name, 'issue')
        const found = repository && (await commentIn(tx, repository.id, id))
        return repository && found && { repository, ...found }
      }),
    list: (viewer, path, number, slice) =>
      store.read(async (tx) => {
        const repository = await readableRepository(tx, viewer, path.owner, path.name, 'issue')
        const issue = repository && (await issueIn(tx, repository, number))
        if (repository === undefined || issue === undefined) return undefined
        const items = await comments.list(tx, 'issue', { prefix: [issue.id], ...slice })
        return { repository, issue, page: { items, total: await comments.count(tx, 'issue', [issue.id]) } }
      }),
    edit: (viewer, path, id, body) =>
      store.write(async (tx) => {
        const access = await writeAccess(tx, viewer, path, 'issue')
        const found = access && (await commentIn(tx, access.repository.id, id))
        if (access === undefined || found === undefined) return undefined
        requireAuthorOrWriter(viewer, access, found.comment.author)
        checkTexts('comment', { body })
        const comment = { ...found.comment, body, updatedAt: now() }
        await comments.save(tx, comment)
        return { repository: access.repository, issue: found.issue, comment }
      }),
    async remove(viewer, path, id) {
      const removed = await store.write(async (tx) => {
        const access = await writeAccess(tx, viewer, path, 'issue')
        const found = access && (await commentIn(tx, access.repository.id, id))
        if (access === undefined || found === undefined) return false
        requireAuthorOrWriter(viewer, access, found.comment.author)
        await removeAttachments(tx, parts, { on: 'comment', id })
        await comments.remove(tx, [id])
        return true
      })
      if (removed) await files.idle()
      return removed
    },
  }
}

/** A comment with its issue. Comments of deleted issues do not count as existing; a job removes them later. */
export const commentIn = async (
  tx: ReadTransaction,
  repository: number,
  id: number,
): Promise<{ comment: Comment; issue: Issue } | undefined> => {
  const comment = await comments.get(tx, [id])
  const issue = comment && (await issues.get(tx, [comment.issue]))
  return comment && issue?.repository === repository ? { comment, issue } : undefined
}
