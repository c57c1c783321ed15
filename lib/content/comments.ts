import type { SignedIn, Viewer } from '../accounts/access.ts'
import { existingAccount, readableRepository } from '../accounts/find.ts'
import { creationTimes, withEdit } from '../records/edits.ts'
import type { Slice, WithPage } from '../records/pages.ts'
import { type Comment, comments, type Issue, issues, type Repository } from '../records/schema/index.ts'
import { takeNumber } from '../records/store.ts'
import { checkTexts } from '../records/text-limits.ts'
import type { RepositoryName } from '../repositories/names.ts'
import type { RepositoryServices } from '../repositories/repositories.ts'
import { type InRepository, requireAuthorOrWriter, writeAccess } from '../repositories/write-access.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { changesBetween } from '../webhooks/events.ts'
import {
  type CommentQuery,
  commentsIn,
  commentsOf,
  createListBudget,
  readsAll,
  type TimelineItem,
  timelineOf,
} from './comment-lists.ts'
import { countTexts } from './daily-limits.ts'
import { subscribeAuthor, TIMELINE } from './issue-events.ts'
import { type FoundIssue, readableIssue, type WithIssue, writableIssue } from './issues.ts'
import { removeContent } from './removers.ts'

interface WithComment {
  /** The comment. */
  readonly comment: Comment
}

/** A comment with its issue and repository. */
export type FoundComment = FoundIssue & WithComment
type CommentPage = FoundIssue & WithPage<Comment>
type TimelinePage = FoundIssue & WithPage<TimelineItem>
type RepositoryCommentPage = InRepository<WithPage<WithComment & WithIssue>>

interface CommentRequest {
  readonly viewer: Viewer
  readonly path: RepositoryName
  readonly number: number
  readonly slice: Slice
  readonly query: CommentQuery
  readonly client: string
}

/** Comments of issues. Methods return undefined when one does not exist or the viewer cannot see it. */
export class Comments {
  readonly #services: RepositoryServices
  readonly #budget = createListBudget()

  constructor(services: RepositoryServices) {
    this.#services = services
  }

  /**
   * Comments on an issue that the viewer can read.
   * @throws AllotError forbidden when the repository is archived; invalid for a text that is too long;
   * too_large beyond the text of a day; not_found when the account of the viewer was deleted
   */
  async create(
    viewer: SignedIn,
    path: RepositoryName,
    number: number,
    body: string,
  ): Promise<FoundComment | undefined> {
    const { store, outbox } = this.#services
    checkTexts('comment', { body })
    return store.write(async (tx) => {
      const access = await writableIssue(tx, viewer, path, number)
      if (access === undefined) return undefined
      const { id: author } = await existingAccount(tx, viewer.id)
      await countTexts(tx, this.#services, author, [body])
      const times = creationTimes()
      const issue = { ...access.issue, updatedAt: times.updatedAt }
      const { repository } = access
      const place = { issue: issue.id, repository: repository.id }
      const comment = { id: await takeNumber(tx, TIMELINE), ...place, body, author, ...times }
      await comments.save(tx, comment)
      await issues.save(tx, issue)
      await subscribeAuthor(tx, issue.id, author)
      const event = { event: 'issue_comment', action: 'created', repository, issue, comment } as const
      await outbox.record(tx, { ...event, by: author })
      return { repository, issue, comment }
    })
  }

  /** The comment with the id. */
  find(viewer: Viewer, path: RepositoryName, id: number): Promise<FoundComment | undefined> {
    return this.#services.store.read(async (tx) => {
      const repository = await readableRepository(tx, viewer, path.owner, path.name, 'issues')
      const found = repository && (await commentIn(tx, repository, id))
      return repository && found && { repository, ...found }
    })
  }

  /**
   * Comments of an issue, oldest first.
   * @param query which of them; all when absent
   * @param client client whose budget a query counts against
   */
  list(
    viewer: Viewer,
    path: RepositoryName,
    number: number,
    slice: Slice,
    query: CommentQuery = {},
    client = 'host',
  ): Promise<CommentPage | undefined> {
    return this.#readIssue(commentsOf, { viewer, path, number, slice, query, client })
  }

  /** Comments and events of an issue, oldest first: it was closed, opened again, or given another title. */
  timeline(
    viewer: Viewer,
    path: RepositoryName,
    number: number,
    slice: Slice,
    query: CommentQuery = {},
    client = 'host',
  ): Promise<TimelinePage | undefined> {
    return this.#readIssue(timelineOf, { viewer, path, number, slice, query, client })
  }

  /** Comments of all issues of a repository, oldest first, each with its issue. */
  listAll(
    viewer: Viewer,
    path: RepositoryName,
    slice: Slice,
    query: CommentQuery = {},
    client = 'host',
  ): Promise<RepositoryCommentPage | undefined> {
    return this.#read(query, client, async (tx) => {
      const repository = await readableRepository(tx, viewer, path.owner, path.name, 'issues')
      if (repository === undefined) return undefined
      const { items, total } = await commentsIn(tx, repository.id, query, slice)
      const found = await issues.referredBy(tx, items, ({ issue }) => issue)
      return { repository, page: { items: items.map((comment) => withIssue(comment, found)), total } }
    })
  }

  #readIssue<P>(
    pageOf: (tx: ReadTransaction, issue: number, query: CommentQuery, slice: Slice) => Promise<P>,
    { viewer, path, number, slice, query, client }: CommentRequest,
  ) {
    return this.#read(query, client, async (tx) => {
      const found = await readableIssue(tx, viewer, path, number)
      return found && { ...found, page: await pageOf(tx, found.issue.id, query, slice) }
    })
  }

  #read<T>(
    query: CommentQuery,
    client: string,
    list: (tx: ReadTransaction) => Promise<T | undefined>,
  ): Promise<T | undefined> {
    const read = () => this.#services.store.read(list)
    return readsAll(query) ? this.#budget.run(client, read) : read()
  }

  /**
   * Changes the text.
   * @throws AllotError forbidden unless the viewer is the author or can write to the repository; too_large
   * beyond the text of a day
   */
  edit(viewer: SignedIn, path: RepositoryName, id: number, body: string): Promise<FoundComment | undefined> {
    return this.#services.store.write(async (tx) => {
      const found = await writableComment(tx, viewer, path, id)
      if (found === undefined) return undefined
      checkTexts('comment', { body })
      const comment = withEdit(found.comment, { body })
      if (comment === found.comment) return found
      await countTexts(tx, this.#services, viewer.id, [body])
      await comments.save(tx, comment)
      const { repository, issue } = found
      const changes = changesBetween(found.comment, comment)
      const event = { event: 'issue_comment', action: 'edited', repository, issue, comment } as const
      await this.#services.outbox.record(tx, { ...event, changes, by: viewer.id })
      return { ...found, comment }
    })
  }

  /**
   * Deletes a comment.
   * @throws AllotError forbidden as for `edit`
   */
  remove(viewer: SignedIn, path: RepositoryName, id: number): Promise<boolean> {
    return this.#services.disk.write(async (tx) => {
      const found = await writableComment(tx, viewer, path, id)
      if (found === undefined) return false
      const event = { event: 'issue_comment', action: 'deleted', ...found } as const
      await this.#services.outbox.record(tx, { ...event, by: viewer.id })
      return removeContent(tx, this.#services, { on: 'comment', id })
    })
  }
}

const withIssue = (comment: Comment, found: ReadonlyMap<number, Issue>): WithComment & WithIssue => ({
  comment,
  issue: found.get(comment.issue)!,
})

/**
 * A comment that the viewer can change.
 * @throws AllotError forbidden
 */
const writableComment = async (
  tx: ReadTransaction,
  viewer: SignedIn,
  path: RepositoryName,
  id: number,
): Promise<FoundComment | undefined> => {
  const access = await writeAccess(tx, viewer, path, 'issues')
  const found = access && (await commentIn(tx, access.repository, id))
  if (access === undefined || found === undefined) return undefined
  requireAuthorOrWriter(viewer, access, found.comment.author)
  return { repository: access.repository, ...found }
}

/**
 * A comment with its issue. Comments of deleted issues do not count as existing; a job removes them later.
 */
const commentIn = async (
  tx: ReadTransaction,
  repository: Repository,
  id: number,
): Promise<{ comment: Comment; issue: Issue } | undefined> => {
  const comment = await comments.get(tx, [id])
  const issue = comment && (await issues.get(tx, [comment.issue]))
  return comment && issue?.repository === repository.id ? { comment, issue } : undefined
}
