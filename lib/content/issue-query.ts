import { invalidMember } from '../errors.ts'
import type { IndexEntry } from '../records/collection.ts'
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

type States = readonly Issue['state'][]

/** One condition of a query: the index entries that satisfy it, newest first, and their number. */
interface Condition {
  entries: AsyncIterable<IndexEntry>
  total: () => Promise<number>
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
  const states: States = state === 'all' ? ['open', 'closed'] : [state]
  const words = tokenize(q)
  // A query without a word, such as `!`, matches no title.
  if (words.length === 0 && q.trim() !== '') return { items: [], total: 0 }
  const conditions = words.map((word) => byIndex(tx, 'words', states, (state) => [repository, state, word]))
  if (author !== undefined)
    conditions.unshift(byIndex(tx, 'author', states, (state) => [repository, author, state]))
  const [first = byIndex(tx, 'state', states, (state) => [repository, state]), ...others] = conditions
  if (others.length === 0)
    return { items: await issues.load(tx, await pageOf(first.entries, slice)), total: await first.total() }
  const matching = intersect(
    conditions.map(({ entries }) => entries),
    true,
  )
  const { entries, total } = await firstWithTotal(matching, slice.offset + slice.limit)
  return { items: await issues.load(tx, entries.slice(slice.offset)), total }
}

const byIndex = (
  tx: ReadTransaction,
  index: 'state' | 'author' | 'words',
  states: States,
  prefixOf: (state: Issue['state']) => KeyTuple,
): Condition =>
  inAnyState(states, (state) => ({
    entries: issues.entries(tx, index, { prefix: prefixOf(state), reverse: true }),
    total: () => issues.count(tx, index, prefixOf(state)),
  }))

/** A condition on issues of several states, from the condition on those of each. */
const inAnyState = (states: States, inOneState: (state: Issue['state']) => Condition): Condition => {
  const conditions = states.map(inOneState)
  if (conditions.length === 1) return conditions[0]!
  return {
    entries: merge(
      conditions.map(({ entries }) => entries),
      true,
    ),
    async total() {
      const totals = await Promise.all(conditions.map(({ total }) => total()))
      return totals.reduce((sum, total) => sum + total, 0)
    },
  }
}
