import { firstOf } from '../accounts/search-page.ts'
import type { Page, Slice } from '../accounts/visible-page.ts'
import { invalid } from '../errors.ts'
import type { IndexEntry } from '../records/collection.ts'
import { intersect, merge, pageOf } from '../records/merge.ts'
import { type Issue, issues } from '../records/schema/index.ts'
import { tokenize } from '../records/tokenize.ts'
import type { ReadTransaction } from '../storage/driver.ts'

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
    states.map((state) => issues.entries(tx, 'words', { prefix: [repository, state, word], reverse: true })),
  ),
  total: () =>
    sum(
      states.map(async (state) => (await issues.countPostings(tx, 'words', [repository, state, word])).count),
    ),
})

const newest = (listings: AsyncIterable<IndexEntry>[]): AsyncIterable<IndexEntry> =>
  listings.length === 1 ? listings[0]! : merge(listings, true)

const sum = async (counts: readonly Promise<number>[]): Promise<number> =>
  (await Promise.all(counts)).reduce((one, other) => one + other, 0)
