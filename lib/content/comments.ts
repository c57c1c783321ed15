import { existingAccount, readableRepository, type Viewer } from '../accounts/access.ts'
import { checkTexts } from '../accounts/names.ts'
import type { Page, Slice } from '../accounts/visible-page.ts'
import { now } from '../clock.ts'
import { type Comment, comments, type Issue, issues } from '../records/schema/index.ts'
import type { RepositoryName } from '../repositories/relations.ts'
import {
  type InRepository,
  requireAuthorOrWriter,
  type SignedIn,
  writeAccess,
} from '../repositories/write-access.ts'
import type { ReadTransaction } from '../storage/driver.ts'
import { type AttachmentParts, removeAttachments } from './attachment-records.ts'
import { issueIn } from './issues.ts'

/** A comment with the issue that it is on. */
export type OnIssue<T> = InRepository<T & { readonly issue: Issue }>

/** Undefined answers stand for what is not there, or what the viewer may not know of. */
export interface Comments {
  /** Whoever may read the repository may comment. */
  create(
    viewer: SignedIn,
    at: RepositoryName,
    number: number,
    body: string,
  ): Promise<OnIssue<{ comment: Comment }> | undefined>
  find(viewer: Viewer, at: RepositoryName, id: number): Promise<OnIssue<{ comment: Comment }> | undefined>
  /** The oldest first. */
  list(
    viewer: Viewer,
    at: RepositoryName,
    number: number,
    slice: Slice,
  ): Promise<OnIssue<{ page: Page<Comment> }> | undefined>
  /** @throws AllotError forbidden for others than the author and those who may write to the repository */
  edit(
    viewer: SignedIn,
    at: RepositoryName,
    id: number,
    body: string,
  ): Promise<OnIssue<{ comment: Comment }> | undefined>
  /** @throws AllotError forbidden, likewise */
  remove(viewer: SignedIn, at: RepositoryName, id: number): Promise<boolean>
}

export const createComments = (parts: AttachmentParts): Comments => {
  const { store, files } = parts
  return {
    async create(viewer, at, number, body) {
      checkTexts('comment', { body })
      const id = await store.sequences.next('comment')
      return store.write(async (tx) => {
        const place = await writeAccess(tx, viewer, at, 'issue')
        const before = place && (await issueIn(tx, place.repository, number))
        if (place === undefined || before === undefined) return undefined
        const { id: author } = await existingAccount(tx, viewer.id)
        const comment: Comment = {
          ...{ id, issue: before.id, body, author },
          ...{ createdAt: now(), updatedAt: now() },
        }
        const issue = { ...before, updatedAt: now() }
        await comments.save(tx, comment)
        await issues.save(tx, issue)
        return { repository: place.repository, issue, comment }
      })
    },
    find: (viewer, at, id) =>
      store.read(async (tx) => {
        const repository = await readableRepository(tx, viewer, at.owner, at.name, 'issue')
        const found = repository && (await commentIn(tx, repository.id, id))
        return repository && found && { repository, ...found }
      }),
    list: (viewer, at, number, slice) =>
      store.read(async (tx) => {
        const repository = await readableRepository(tx, viewer, at.owner, at.name, 'issue')
        const issue = repository && (await issueIn(tx, repository, number))
        if (repository === undefined || issue === undefined) return undefined
        const items = await comments.list(tx, 'issue', { prefix: [issue.id], ...slice })
        return { repository, issue, page: { items, total: await comments.count(tx, 'issue', [issue.id]) } }
      }),
    edit: (viewer, at, id, body) =>
      store.write(async (tx) => {
        const place = await writeAccess(tx, viewer, at, 'issue')
        const found = place && (await commentIn(tx, place.repository.id, id))
        if (place === undefined || found === undefined) return undefined
        requireAuthorOrWriter(viewer, place, found.comment.author)
        checkTexts('comment', { body })
        const comment = { ...found.comment, body, updatedAt: now() }
        await comments.save(tx, comment)
        return { repository: place.repository, issue: found.issue, comment }
      }),
    async remove(viewer, at, id) {
      const removed = await store.write(async (tx) => {
        const place = await writeAccess(tx, viewer, at, 'issue')
        const found = place && (await commentIn(tx, place.repository.id, id))
        if (place === undefined || found === undefined) return false
        requireAuthorOrWriter(viewer, place, found.comment.author)
        await removeAttachments(tx, parts, { on: 'comment', id })
        await comments.remove(tx, [id])
        return true
      })
      if (removed) await files.idle()
      return removed
    },
  }
}

/** A comment is gone with its issue, and that with its repository; what is left of them is removed in steps. */
export const commentIn = async (
  tx: ReadTransaction,
  repository: number,
  id: number,
): Promise<{ comment: Comment; issue: Issue } | undefined> => {
  const comment = await comments.get(tx, [id])
  const issue = comment && (await issues.get(tx, [comment.issue]))
  return comment && issue?.repository === repository ? { comment, issue } : undefined
}
