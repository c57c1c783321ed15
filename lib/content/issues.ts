import type { Viewer } from '../accounts/access.ts'
import { given } from '../accounts/accounts.ts'
import { existingAccount, readableRepository } from '../accounts/find.ts'
import { checkIssue } from '../accounts/texts.ts'
import type { Page, Slice } from '../accounts/visible-page.ts'
import { createClientBudget } from '../client-budget.ts'
import { now } from '../clock.ts'
import { AllotError } from '../errors.ts'
import type { Jobs } from '../records/jobs.ts'
import { type Issue, issueSequences, issues, type Repository } from '../records/schema/index.ts'
import type { WriteContext } from '../records/store.ts'
import type { RepositoryName } from '../repositories/relations.ts'
import {
  type InRepository,
  requireAuthorOrWriter,
  type SignedIn,
  writeAccess,
} from '../repositories/write-access.ts'
import type { ReadTransaction } from '../storage/driver.ts'
import { type AttachmentParts, removeAttachments } from './attachment-records.ts'
import { type IssueQuery, isIntersection, listIssues } from './issue-query.ts'

export interface NewIssue {
  title: string
  body?: string | undefined
  closed?: boolean | undefined
}

export interface IssueEdit {
  title?: string | undefined
  body?: string | undefined
  state?: Issue['state'] | undefined
}

/** Undefined answers stand for what is not there, or what the viewer may not know of. */
export interface Issues {
  /** Whoever may read the repository may open one. */
  create(
    viewer: SignedIn,
    at: RepositoryName,
    issue: NewIssue,
  ): Promise<InRepository<{ issue: Issue }> | undefined>
  find(
    viewer: Viewer,
    at: RepositoryName,
    number: number,
  ): Promise<InRepository<{ issue: Issue }> | undefined>
  /**
   * The newest first.
   * @param client whose budget a search for several words counts against
   * @throws AllotError invalid for too many words, unavailable while too many searches wait
   */
  list(
    viewer: Viewer,
    at: RepositoryName,
    query: IssueQuery,
    slice: Slice,
    client?: string,
  ): Promise<InRepository<{ page: Page<Issue> }> | undefined>
  /** @throws AllotError forbidden for others than the author and those who may write to the repository */
  edit(
    viewer: SignedIn,
    at: RepositoryName,
    number: number,
    edit: IssueEdit,
  ): Promise<InRepository<{ issue: Issue }> | undefined>
  /** With its comments, whatever their number. @throws AllotError forbidden for whoever does not administer the repository */
  remove(viewer: SignedIn, at: RepositoryName, number: number): Promise<boolean>
}

export const createIssues = (parts: AttachmentParts, jobs: Jobs): Issues => {
  const { store, files } = parts
  const searches = createClientBudget({
    slots: 4,
    queue: 100,
    message: 'too many searches are running: try again',
  })
  return {
    async create(viewer, at, { title, body = '', closed = false }) {
      checkIssue({ title, body })
      const id = await store.sequences.next('issue')
      return store.write(async (tx) => {
        const place = await writeAccess(tx, viewer, at, 'issue')
        if (place === undefined) return undefined
        const { id: author } = await existingAccount(tx, viewer.id)
        const { repository } = place
        const issue: Issue = {
          ...{ id, repository: repository.id, number: await nextNumber(tx, repository), title, body, author },
          ...{ state: closed ? 'closed' : 'open', closedAt: closed ? now() : null },
          ...{ createdAt: now(), updatedAt: now() },
        }
        await issues.save(tx, issue)
        return { repository, issue }
      })
    },
    find: (viewer, at, number) =>
      store.read(async (tx) => {
        const repository = await readableRepository(tx, viewer, at.owner, at.name, 'issue')
        const issue = repository && (await issueIn(tx, repository, number))
        return repository && issue && { repository, issue }
      }),
    async list(viewer, at, query, slice, client = 'host') {
      const list = () =>
        store.read(async (tx) => {
          const repository = await readableRepository(tx, viewer, at.owner, at.name, 'issue')
          return repository && { repository, page: await listIssues(tx, repository.id, query, slice) }
        })
      return isIntersection(query) ? searches.run(client, list) : list()
    },
    edit: (viewer, at, number, edit) =>
      store.write(async (tx) => {
        const place = await writeAccess(tx, viewer, at, 'issue')
        const before = place && (await issueIn(tx, place.repository, number))
        if (place === undefined || before === undefined) return undefined
        requireAuthorOrWriter(viewer, place, before.author)
        checkIssue(edit)
        const issue = edited(before, edit)
        await issues.save(tx, issue)
        return { repository: place.repository, issue }
      }),
    async remove(viewer, at, number) {
      const id = await store.write(async (tx) => {
        const place = await writeAccess(tx, viewer, at, 'issue')
        const issue = place && (await issueIn(tx, place.repository, number))
        if (place === undefined || issue === undefined) return undefined
        if (!place.may.admin)
          throw new AllotError('forbidden', 'only who administers the repository may delete an issue')
        await issues.remove(tx, [issue.id])
        const did = await removeAttachments(tx, parts, { on: 'issue', id: issue.id })
        await jobs.runNow(tx, 'comments', issue.id, jobs.bounds.maxPerTransaction - did)
        return issue.id
      })
      if (id === undefined) return false
      await jobs.finish(store, 'comments', id)
      await files.idle()
      return true
    },
  }
}

/** An issue by its number. */
export const issueIn = (
  tx: ReadTransaction,
  repository: Repository,
  number: number,
): Promise<Issue | undefined> => issues.findBy(tx, 'number', [repository.id, number])

const edited = (before: Issue, edit: IssueEdit): Issue => {
  const after = { ...before, ...given(edit), updatedAt: now() }
  if (after.state === before.state) return after
  return { ...after, closedAt: after.state === 'closed' ? now() : null }
}

/** The number of a deleted issue is not given again: what points to it must not lead to another. */
const nextNumber = async (tx: WriteContext, { id: repository }: Repository): Promise<number> => {
  const last = ((await issueSequences.get(tx, [repository]))?.last ?? 0) + 1
  await issueSequences.save(tx, { repository, last })
  return last
}

export const countOpenIssues = (tx: ReadTransaction, repository: number): Promise<number> =>
  issues.count(tx, 'state', [repository, 'open'])
