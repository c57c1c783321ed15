import type { SignedIn, Viewer } from '../accounts/access.ts'
import { existingAccount, readableRepository } from '../accounts/find.ts'
import { ClientBudget } from '../client-budget.ts'
import { AllotError, invalidMember } from '../errors.ts'
import { creationTimes, type EditOf, savedMembers, withEdit } from '../records/edits.ts'
import type { Slice, WithPage } from '../records/pages.ts'
import { type Issue, issueSequences, issues, type Repository } from '../records/schema/index.ts'
import { takeNumber, type WriteContext } from '../records/store.ts'
import { checkTexts } from '../records/text-limits.ts'
import type { RepositoryName } from '../repositories/names.ts'
import type { RepositoryServices } from '../repositories/repositories.ts'
import {
  type InRepository,
  requireAuthorOrWriter,
  type WriteAccess,
  writeAccess,
} from '../repositories/write-access.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { changesBetween } from '../webhooks/events.ts'
import { countTexts } from './daily-limits.ts'
import { recordEvents, subscribeAuthor } from './issue-events.ts'
import { type IssueQuery, isIntersection, listIssues } from './issue-query.ts'
import { removeContent } from './removers.ts'

interface NewIssue extends Pick<Issue, 'title'>, EditOf<Issue, 'body'> {
  /** Whether it is closed from the beginning. */
  closed?: boolean | undefined
}

/** What an edit may change. */
const EDITED = ['title', 'body', 'state'] as const
type IssueEdit = EditOf<Issue, (typeof EDITED)[number]>

export interface WithIssue {
  /** The issue. */
  readonly issue: Issue
}

export type FoundIssue = InRepository<WithIssue>
type IssuePage = InRepository<WithPage<Issue>>

/** Issues of repositories. Methods return undefined when one does not exist or the viewer cannot see it. */
export class Issues {
  readonly #services: RepositoryServices
  readonly #searches = new ClientBudget({
    slots: 4,
    queue: 100,
    message: 'too many searches are running: try again',
  })

  constructor(services: RepositoryServices) {
    this.#services = services
  }

  /**
   * Opens an issue in a repository whose issues the viewer can read.
   * @throws AllotError forbidden when the repository is archived; invalid for a wrong title or text;
   * too_large beyond the text of a day; not_found when the account of the viewer was deleted
   */
  async create(
    viewer: SignedIn,
    path: RepositoryName,
    { title, body = '', closed = false }: NewIssue,
  ): Promise<FoundIssue | undefined> {
    const { store, outbox } = this.#services
    checkIssue({ title, body })
    return store.write(async (tx) => {
      const access = await writeAccess(tx, viewer, path, 'issues')
      if (access === undefined) return undefined
      const { id: author } = await existingAccount(tx, viewer.id)
      await countTexts(tx, this.#services, author, [title, body])
      const { repository } = access
      const times = creationTimes()
      const id = await takeNumber(tx, 'issue')
      const issue: Issue = {
        id,
        repository: repository.id,
        number: await nextNumber(tx, repository),
        title,
        body,
        author,
        state: closed ? 'closed' : 'open',
        closedAt: closed ? times.createdAt : null,
        ...times,
      }
      await issues.save(tx, issue)
      await subscribeAuthor(tx, id, author)
      await outbox.record(tx, { event: 'issues', action: 'opened', repository, issue, by: author })
      return { repository, issue }
    })
  }

  /** The issue with the number. */
  find(viewer: Viewer, path: RepositoryName, number: number): Promise<FoundIssue | undefined> {
    return this.#services.store.read((tx) => readableIssue(tx, viewer, path, number))
  }

  /**
   * Lists issues, newest first.
   * @param client client whose budget a search for several words counts against
   * @throws AllotError invalid for too many words, unavailable while too many searches wait
   */
  async list(
    viewer: Viewer,
    path: RepositoryName,
    query: IssueQuery,
    slice: Slice,
    client = 'host',
  ): Promise<IssuePage | undefined> {
    const list = () =>
      this.#services.store.read(async (tx) => {
        const repository = await readableRepository(tx, viewer, path.owner, path.name, 'issues')
        return repository && { repository, page: await listIssues(tx, repository.id, query, slice) }
      })
    return isIntersection(query) ? this.#searches.run(client, list) : list()
  }

  /**
   * Changes an issue.
   * @throws AllotError forbidden unless the viewer is the author or can write to the repository; invalid for
   * a wrong title or text; too_large beyond the text of a day
   */
  async edit(
    viewer: SignedIn,
    path: RepositoryName,
    number: number,
    edit: IssueEdit,
  ): Promise<FoundIssue | undefined> {
    return this.#services.store.write(async (tx) => {
      const access = await writableIssue(tx, viewer, path, number)
      if (access === undefined) return undefined
      requireAuthorOrWriter(viewer, access, access.issue.author)
      checkIssue(edit)
      const issue = edited(access.issue, edit)
      if (issue === access.issue) return access
      const { title, body } = access.issue
      await countTexts(tx, this.#services, viewer.id, [edit.title, edit.body], [title, body])
      await recordEvents(tx, access.issue, issue, viewer.id)
      await issues.save(tx, issue)
      await this.#recordEdit(tx, access.repository, access.issue, issue, viewer.id)
      return { repository: access.repository, issue }
    })
  }

  async #recordEdit(
    tx: WriteContext,
    repository: Repository,
    before: Issue,
    issue: Issue,
    by: number,
  ): Promise<void> {
    const { outbox } = this.#services
    const event = { event: 'issues', repository, issue, by } as const
    const changes = changesBetween(before, issue)
    if (Object.keys(changes).length > 0) await outbox.record(tx, { ...event, action: 'edited', changes })
    if (issue.state === before.state) return
    await outbox.record(tx, { ...event, action: issue.state === 'closed' ? 'closed' : 'reopened' })
  }

  /**
   * Deletes the issue with its comments.
   * @throws AllotError forbidden without admin permission on the repository
   */
  async remove(viewer: SignedIn, path: RepositoryName, number: number): Promise<boolean> {
    const { jobs, disk, outbox } = this.#services
    const id = await disk.write(async (tx) => {
      const access = await writableIssue(tx, viewer, path, number)
      if (access === undefined) return undefined
      if (!access.permission.admin)
        throw new AllotError(
          'forbidden',
          'only users with admin permission on the repository can delete an issue',
        )
      const { issue, repository } = access
      const { id } = issue
      await outbox.record(tx, { event: 'issues', action: 'deleted', repository, issue, by: viewer.id })
      await removeContent(tx, this.#services, { on: 'issue', id })
      return id
    })
    if (id === undefined) return false
    await jobs.finish(disk, 'removeComments', id)
    return true
  }
}

/** An issue by its number. */
const issueIn = (tx: ReadTransaction, repository: Repository, number: number): Promise<Issue | undefined> =>
  issues.findBy(tx, 'number', [repository.id, number])

export const readableIssue = async (
  tx: ReadTransaction,
  viewer: Viewer,
  { owner, name }: RepositoryName,
  number: number,
): Promise<FoundIssue | undefined> => {
  const repository = await readableRepository(tx, viewer, owner, name, 'issues')
  const issue = repository && (await issueIn(tx, repository, number))
  return repository && issue && { repository, issue }
}

/**
 * An issue with the viewer's permission on its repository.
 * @throws AllotError forbidden when it is archived
 */
export const writableIssue = async (
  tx: ReadTransaction,
  viewer: SignedIn,
  path: RepositoryName,
  number: number,
): Promise<(WriteAccess & FoundIssue) | undefined> => {
  const access = await writeAccess(tx, viewer, path, 'issues')
  const issue = access && (await issueIn(tx, access.repository, number))
  return access && issue && { ...access, issue }
}

const edited = (before: Issue, edit: IssueEdit): Issue => {
  const after = withEdit(before, savedMembers(edit, EDITED))
  if (after.state === before.state) return after
  return { ...after, closedAt: after.state === 'closed' ? after.updatedAt : null }
}

/** Numbers of deleted issues are not used again, so that a link never leads to another issue. */
const nextNumber = async (tx: WriteContext, { id: repository }: Repository): Promise<number> => {
  const last = ((await issueSequences.get(tx, [repository]))?.last ?? 0) + 1
  await issueSequences.save(tx, { repository, last })
  return last
}

export const countOpenIssues = (tx: ReadTransaction, repository: number): Promise<number> =>
  issues.count(tx, 'state', [repository, 'open'])

export const checkIssue = (texts: { title?: string | undefined; body?: string | undefined }): void => {
  if (texts.title === '') throw invalidMember('title', 'must not be empty')
  checkTexts('issue', texts)
}
