import { existingAccount, readableRepository, type SignedIn, type Viewer } from '../accounts/access.ts'
import { checkTexts } from '../accounts/names.ts'
import { now } from '../clock.ts'
import type { Slice, WithPage } from '../records/collection.ts'
import { type Comment, comments, type Issue, issues, type Repository } from '../records/schema/index.ts'
import type { RepositoryName } from '../repositories/relations.ts'
import { requireAuthorOrWriter, writeAccess } from '../repositories/write-access.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { type ContentParts, removeAttachments, removeWithFiles } from './attachments.ts'
import { type FoundIssue, readableIssue, writableIssue } from './issues.ts'

interface WithComment {
  /** The comment. */
  readonly comment: Comment
}

/** A comment with its issue and repository. */
export type FoundComment = FoundIssue & WithComment
type CommentPage = FoundIssue & WithPage<Comment>

/** Comments of issues. Methods return undefined for what does not exist or the viewer cannot see. */
export class Comments {
  readonly #parts: ContentParts

  constructor(parts: ContentParts) {
    this.#parts = parts
  }

  /** Everyone who can read the repository can comment. */
  async create(
    viewer: SignedIn,
    path: RepositoryName,
    number: number,
    body: string,
  ): Promise<FoundComment | undefined> {
    const { store } = this.#parts
    checkTexts('comment', { body })
    const id = await store.sequences.next('comment')
    return store.write(async (tx) => {
      const access = await writableIssue(tx, viewer, path, number)
      if (access === undefined) return undefined
      const { id: author } = await existingAccount(tx, viewer.id)
      const issue = { ...access.issue, updatedAt: now() }
      const comment = { id, issue: issue.id, body, author, createdAt: now(), updatedAt: now() }
      await comments.save(tx, comment)
      await issues.save(tx, issue)
      return { repository: access.repository, issue, comment }
    })
  }

  /** The comment with the id. */
  find(viewer: Viewer, path: RepositoryName, id: number): Promise<FoundComment | undefined> {
    return this.#parts.store.read(async (tx) => {
      const repository = await readableRepository(tx, viewer, path.owner, path.name, 'issue')
      const found = repository && (await commentIn(tx, repository, id))
      return repository && found && { repository, ...found }
    })
  }

  /** Comments of an issue, oldest first. */
  list(viewer: Viewer, path: RepositoryName, number: number, slice: Slice): Promise<CommentPage | undefined> {
    return this.#parts.store.read(async (tx) => {
      const found = await readableIssue(tx, viewer, path, number)
      if (found === undefined) return undefined
      return { ...found, page: await comments.page(tx, 'issue', { prefix: [found.issue.id], ...slice }) }
    })
  }

  /** Changes the text. @throws AllotError forbidden unless the viewer is the author or can write to the repository */
  edit(viewer: SignedIn, path: RepositoryName, id: number, body: string): Promise<FoundComment | undefined> {
    return this.#parts.store.write(async (tx) => {
      const found = await writableComment(tx, viewer, path, id)
      if (found === undefined) return undefined
      checkTexts('comment', { body })
      const comment = { ...found.comment, body, updatedAt: now() }
      await comments.save(tx, comment)
      return { ...found, comment }
    })
  }

  /** Deletes a comment. @throws AllotError forbidden as for `edit` */
  remove(viewer: SignedIn, path: RepositoryName, id: number): Promise<boolean> {
    return removeWithFiles(this.#parts, async (tx) => {
      if ((await writableComment(tx, viewer, path, id)) === undefined) return false
      await removeAttachments(tx, this.#parts, { on: 'comment', id })
      await comments.remove(tx, [id])
      return true
    })
  }
}

/** A comment that the viewer can change. @throws AllotError forbidden */
const writableComment = async (
  tx: ReadTransaction,
  viewer: SignedIn,
  path: RepositoryName,
  id: number,
): Promise<FoundComment | undefined> => {
  const access = await writeAccess(tx, viewer, path, 'issue')
  const found = access && (await commentIn(tx, access.repository, id))
  if (access === undefined || found === undefined) return undefined
  requireAuthorOrWriter(viewer, access, found.comment.author)
  return { repository: access.repository, ...found }
}

/** A comment with its issue. Comments of deleted issues do not count as existing; a job removes them later. */
const commentIn = async (
  tx: ReadTransaction,
  repository: Repository,
  id: number,
): Promise<{ comment: Comment; issue: Issue } | undefined> => {
  const comment = await comments.get(tx, [id])
  const issue = comment && (await issues.get(tx, [comment.issue]))
  return comment && issue?.repository === repository.id ? { comment, issue } : undefined
}
