import { existingAccount, readableRepository, type Viewer } from '../accounts/access.ts'
import { definedMembers } from '../accounts/accounts.ts'
import { checkIssue } from '../accounts/names.ts'
import { firstOf } from '../accounts/search-page.ts'
import type { Page, Slice } from '../accounts/visible-page.ts'
import { createClientBudget } from '../client-budget.ts'
import { now } from '../clock.ts'
import { AllotError, invalid } from '../errors.ts'
import type { IndexEntry } from '../records/collection.ts'
import type { Jobs } from '../records/jobs.ts'
import { intersect, merge, pageOf } from '../records/merge.ts'
import { type Issue, issueSequences, issues, issueTitles, type Repository } from '../records/schema/index.ts'
import type { WriteContext } from '../records/store.ts'
import type { RepositoryName } from '../repositories/relations.ts'
import {
  type InRepository,
  requireAuthorOrWriter,
  type SignedIn,
  writeAccess,
} from '../repositories/write-access.ts'
import { tokenize } from '../search/index.ts'
import type { ReadTransaction } from '../storage/driver.ts'
import { type AttachmentParts, removeAttachments } from './attachment-records.ts'

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
        if (!place.permission.admin)
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
  const after = { ...before, ...definedMembers(edit), updatedAt: now() }
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

export interface IssueQuery {
  state: Issue['state'] | 'all'
  /** Words that the title has, in any order and without case: at most 16 different ones. */
  q?: string | undefined
  /** The id of an account. */
  author?: number | undefined
}

/** Each word costs as many index entries as issues have it. */
const WORDS_LIMIT = 16

/**
 * Whether several indexes are held against each other, which costs as many entries as they have.
 * @throws AllotError invalid for too many words
 */
export const isIntersection = ({ q = '', author }: IssueQuery): boolean => {
  const { length } = tokenize(q)
  if (length > WORDS_LIMIT)
    throw invalid(`q: at most ${WORDS_LIMIT} different words are looked for, got ${length}`)
  return length + (author === undefined ? 0 : 1) > 1
}

type States = readonly Issue['state'][]

/** One thing that is asked of an issue: those that have it, the newest first, and how many they are. */
interface Condition {
  entries: AsyncIterable<IndexEntry>
  total(): Promise<number>
}

/**
 * Every condition is an index in the order of the numbers, so several of them are held against each other without
 * loading a record but those of the page.
 */
export const listIssues = async (
  tx: ReadTransaction,
  repository: number,
  { state, q = '', author }: IssueQuery,
  slice: Slice,
): Promise<Page<Issue>> => {
  const states: States = state === 'all' ? ['open', 'closed'] : [state]
  const words = tokenize(q)
  // What has no word in it is in no title.
  if (words.length === 0 && q.trim() !== '') return { items: [], total: 0 }
  const conditions = [
    ...(author === undefined ? [] : [byAuthor(tx, repository, states, author)]),
    ...words.map((word) => byWord(tx, repository, states, word)),
  ]
  const [first = inState(tx, repository, states), ...more] = conditions
  if (more.length > 0) return pageOfAll(tx, conditions, slice)
  return {
    items: await issues.load(tx, await pageOf(first.entries, slice)),
    total: await first.total(),
  }
}

const pageOfAll = async (
  tx: ReadTransaction,
  conditions: readonly Condition[],
  { offset, limit }: Slice,
): Promise<Page<Issue>> => {
  const both = intersect(
    conditions.map(({ entries }) => entries),
    true,
  )
  const { entries, total } = await firstOf(both, offset + limit)
  return { items: await issues.load(tx, entries.slice(offset)), total }
}

const inState = (tx: ReadTransaction, repository: number, states: States): Condition => ({
  entries: newest(
    states.map((state) => issues.entries(tx, 'state', { prefix: [repository, state], reverse: true })),
  ),
  total: () => sum(states.map((state) => issues.count(tx, 'state', [repository, state]))),
})

const byAuthor = (tx: ReadTransaction, repository: number, states: States, author: number): Condition => ({
  entries: newest(
    states.map((state) =>
      issues.entries(tx, 'author', { prefix: [repository, author, state], reverse: true }),
    ),
  ),
  total: () => sum(states.map((state) => issues.count(tx, 'author', [repository, author, state]))),
})

const byWord = (tx: ReadTransaction, repository: number, states: States, word: string): Condition => ({
  entries: newest(
    states.map((state) => issueTitles.entries(tx, [repository, state, word], { reverse: true })),
  ),
  total: () =>
    sum(states.map(async (state) => (await issueTitles.count(tx, [repository, state, word])).count)),
})

const newest = (listings: AsyncIterable<IndexEntry>[]): AsyncIterable<IndexEntry> =>
  listings.length === 1 ? listings[0]! : merge(listings, true)

const sum = async (counts: readonly Promise<number>[]): Promise<number> =>
  (await Promise.all(counts)).reduce((one, other) => one + other, 0)
