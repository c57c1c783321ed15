import { ClientBudget } from '../client-budget.ts'
import type { IndexEntry } from '../records/collection.ts'
import { pendingAmong } from '../records/jobs.ts'
import { inSteps, merge, pageOf } from '../records/merge.ts'
import type { Page, Slice } from '../records/pages.ts'
import { type Comment, comments, type IssueEvent, issueEvents } from '../records/schema/index.ts'
import type { ReadTransaction } from '../storage/index.ts'

/** Which comments to list, by the time of their last change in seconds since 1970. */
export interface CommentQuery {
  /** Only comments of this time or later. */
  readonly since?: number | undefined
  /** Only comments of this time or earlier. */
  readonly before?: number | undefined
  /** Id of the first comment, in a list of those of one issue. */
  readonly from?: number | undefined
}

/** An entry in the timeline of an issue. */
export type TimelineItem = Comment | IssueEvent

/** Lists that read more than a page. */
export const createListBudget = (): ClientBudget =>
  new ClientBudget({ slots: 4, queue: 100, message: 'too many lists of comments are running: try again' })

/** Whether the list reads all comments, and needs a slot of the budget. */
export const readsAll = ({ since, before }: CommentQuery): boolean =>
  since !== undefined || before !== undefined

/** Comments of an issue, oldest first. */
export const commentsOf = async (
  tx: ReadTransaction,
  issue: number,
  query: CommentQuery,
  slice: Slice,
): Promise<Page<Comment>> => {
  const prefix = [issue]
  const from = query.from === undefined ? undefined : [query.from]
  if (!readsAll(query)) return comments.page(tx, 'issue', { prefix, from, ...slice })
  const load = (entries: readonly IndexEntry[]) => comments.load(tx, entries)
  return matchingPage(comments.entries(tx, 'issue', { prefix, from }), load, matches(query), slice)
}

/** Comments and events of an issue, oldest first. */
export const timelineOf = async (
  tx: ReadTransaction,
  issue: number,
  query: CommentQuery,
  slice: Slice,
): Promise<Page<TimelineItem>> => {
  const prefix = [issue]
  const entries = merge([
    comments.entries(tx, 'issue', { prefix }),
    issueEvents.entries(tx, 'issue', { prefix }),
  ])
  // An entry leads to its record, whichever collection that is in.
  const load = (page: readonly IndexEntry[]): Promise<TimelineItem[]> => comments.load(tx, page)
  if (readsAll(query)) return matchingPage(entries, load, matches(query), slice)
  const items = await load(await pageOf(entries, slice))
  const counts = [comments.count(tx, 'issue', prefix), issueEvents.count(tx, 'issue', prefix)]
  const [ofComments = 0, ofEvents = 0] = await Promise.all(counts)
  return { items, total: ofComments + ofEvents }
}

/** Comments of all issues of a repository, oldest first. */
export const commentsIn = async (
  tx: ReadTransaction,
  repository: number,
  query: CommentQuery,
  slice: Slice,
): Promise<Page<Comment>> => {
  const prefix = [repository]
  const deleted = new Set(await deletedIssuesIn(tx, repository))
  if (!readsAll(query) && deleted.size === 0) return comments.page(tx, 'repository', { prefix, ...slice })
  const isInTime = matches(query)
  const load = (entries: readonly IndexEntry[]) => comments.load(tx, entries)
  const isListed = (comment: Comment) => !deleted.has(comment.issue) && isInTime(comment)
  return matchingPage(comments.entries(tx, 'repository', { prefix }), load, isListed, slice)
}

/** Issues whose comments a job is removing. */
const deletedIssuesIn = async (tx: ReadTransaction, repository: number): Promise<number[]> => {
  const prefix = [repository]
  const commented = async () => (await comments.list(tx, 'repository', { prefix })).map(({ issue }) => issue)
  const count = await comments.count(tx, 'repository', prefix)
  const pending = await pendingAmong(tx, 'removeComments', count, commented)
  const first = await Promise.all(
    pending.map((issue) => comments.list(tx, 'issue', { prefix: [issue], limit: 1 })),
  )
  return pending.filter((_, index) => first[index]![0]?.repository === repository)
}

const matches =
  ({ since = Number.NEGATIVE_INFINITY, before = Number.POSITIVE_INFINITY }: CommentQuery) =>
  (item: TimelineItem): boolean => {
    const time = 'updatedAt' in item ? item.updatedAt : item.createdAt
    return time >= since && time <= before
  }

/** A page of the records that match, whose number only reading all of them tells. */
const matchingPage = async <R>(
  listing: AsyncIterable<IndexEntry>,
  load: (entries: readonly IndexEntry[]) => Promise<R[]>,
  isMatch: (record: R) => boolean,
  { offset, limit }: Slice,
): Promise<Page<R>> => {
  const items: R[] = []
  let total = 0
  for await (const records of inSteps(listing, load))
    for (const record of records.filter(isMatch)) {
      if (total >= offset && items.length < limit) items.push(record)
      total++
    }
  return { items, total }
}
