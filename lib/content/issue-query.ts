import { invalidMember } from '../errors.ts'
import type { KeyTuple } from '../records/key-codec.ts'
import { firstWithTotal, intersect, merge, pageOf } from '../records/merge.ts'
import type { Page, Slice } from '../records/pages.ts'
import { type Issue, issues } from '../records/schema/index.ts'
import { tokenize } from '../search/index.ts'
import type { ReadTransaction } from '../storage/index.ts'

export interface IssueQuery {
  /** Which issues: open, closed, or `all`. */
  state: Issue['state'] | 'all'
  /** Words that the title contains, in any order, case-insensitive; 16 different words at most. */
  q?: string | undefined
  /** The id of an account. */
  author?: number | undefined
}

/** Bounds the cost of a search: a word has as many index entries as issues contain it. */
const MAX_WORDS = 16

/**
 * Whether the query intersects several indexes, which reads all of their entries.
 * @throws AllotError invalid for too many words
 */
export const isIntersection = ({ q = '', author }: IssueQuery): boolean => {
  const { length } = tokenize(q)
  if (length > MAX_WORDS)
    throw invalidMember('q', `expected at most ${MAX_WORDS} different words, got ${length}`)
  return length + (author === undefined ? 0 : 1) > 1
}

/** One condition of a query: an index, and the beginnings of its keys that satisfy it. */
interface Condition {
  readonly index: 'state' | 'author' | 'words'
  readonly prefixes: readonly KeyTuple[]
}

/**
 * Every condition is an index that is ordered by issue number, so several of them are intersected without
 * loading records; only those of the page are loaded.
 */
export const listIssues = async (
  tx: ReadTransaction,
  repository: number,
  { state, q = '', author }: IssueQuery,
  slice: Slice,
): Promise<Page<Issue>> => {
  const states = state === 'all' ? (['open', 'closed'] as const) : [state]
  const words = tokenize(q)
  // A query without a word, such as `!`, matches no title.
  if (words.length === 0 && q.trim() !== '') return { items: [], total: 0 }
  const conditions: Condition[] = words.map((word) => ({
    index: 'words',
    prefixes: states.map((each) => [repository, each, word]),
  }))
  if (author !== undefined)
    conditions.unshift({ index: 'author', prefixes: states.map((each) => [repository, author, each]) })
  if (conditions.length === 0)
    conditions.push({ index: 'state', prefixes: states.map((each) => [repository, each]) })
  // Newest first.
  const listings = conditions.map(({ index, prefixes }) =>
    merge(
      prefixes.map((prefix) => issues.entries(tx, index, { prefix, reverse: true })),
      true,
    ),
  )
  const [{ index, prefixes }] = conditions as [Condition]
  if (conditions.length === 1) {
    const items = await issues.load(tx, await pageOf(listings[0]!, slice))
    const totals = await Promise.all(prefixes.map((prefix) => issues.count(tx, index, prefix)))
    return { items, total: totals.reduce((sum, total) => sum + total, 0) }
  }
  const matching = intersect(listings, true)
  const { entries, total } = await firstWithTotal(matching, slice.offset + slice.limit)
  return { items: await issues.load(tx, entries.slice(slice.offset)), total }
}
