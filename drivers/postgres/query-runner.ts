import { type Bytes, compareKeys, type Entry } from '../../lib/storage/index.ts'
import { keyText } from '../../lib/storage/write-buffer.ts'
import { byteas, bytesOf, integers } from './arrays.ts'
import type { Query, QueryResult } from './queries.ts'
import type { CachedResult } from './read-cache.ts'
import type { Row } from './session.ts'
import type { Statement, Statements } from './statements.ts'

export type Run = (statement: Statement, values: readonly unknown[]) => Promise<Row[]>

/** The same key twice is asked once; answers come as one statement's rows, so they are of one moment. */
export const askKeys = async (
  run: Run,
  { points }: Statements,
  queries: readonly Query[],
): Promise<QueryResult[]> => {
  const keys = new Map(queries.map(({ id, start }) => [id, start]))
  const found = answersByKey(await run(points, [byteas([...keys.values()])]))
  return queries.map(({ id }) => found.get(id) ?? NOTHING)
}

export const askPage = async (
  run: Run,
  { forward, reverse }: Statements,
  query: Query,
): Promise<QueryResult> => {
  const rows = await run(query.reverse ? reverse : forward, [...[query.start, query.end], query.limit])
  return rows.map(([key, value]) => entryOf(key!, value!))
}

/** What is to be found out at one moment. */
export interface Asked {
  readonly queries: readonly Query[]
  /** Answers about keys: those that are right need not be sent once more. */
  readonly expected: readonly CachedResult[]
}

export interface Told {
  /** In the order of the questions. */
  readonly answers: QueryResult[]
  /** By the question's id, for what is expected and is not so. */
  readonly others: ReadonlyMap<string, QueryResult>
}

/** Everything in one statement. */
export const askAll = async (
  run: Run,
  statements: Statements,
  { queries, expected }: Asked,
): Promise<Told> => {
  if (expected.length === 0 && queries.every(isOfKey))
    return { answers: await askKeys(run, statements, queries), others: NONE }
  if (queries.length === 0) {
    const rows = await run(statements.changed, expectedOf(expected))
    return { answers: [], others: answersByKey(rows) }
  }
  const places = [...queries.entries()].filter(([, query]) => !isOfKey(query))
  const rows = await run(statements.queries, [
    byteas(queries.filter(isOfKey).map(({ start }) => start)),
    ...rangesOf(places.filter(([, { reverse }]) => !reverse)),
    ...rangesOf(places.filter(([, { reverse }]) => reverse)),
    ...expectedOf(expected),
  ])
  const found = answersByKey(rows.filter(([place]) => place === null).map(([, ...entry]) => entry))
  const pages = pagesOf(rows, places)
  return { answers: queries.map(({ id }, at) => pages.get(at) ?? found.get(id) ?? NOTHING), others: found }
}

const isOfKey = ({ end }: Query): boolean => end === undefined

const pagesOf = (
  rows: readonly Row[],
  places: readonly (readonly [number, Query])[],
): Map<number, QueryResult> => {
  const pages = new Map(places.map(([at]) => [at, [] as Entry[]]))
  for (const [place, key, value] of rows)
    if (place != null) pages.get(Number(place))!.push(entryOf(key!, value!))
  // No statement that has several parts promises an order.
  for (const [at, { reverse }] of places)
    pages.get(at)!.sort(([one], [other]) => (reverse ? compareKeys(other, one) : compareKeys(one, other)))
  return pages
}

const expectedOf = (expected: readonly CachedResult[]): Buffer[] => [
  byteas(expected.map(({ query }) => query.start)),
  byteas(expected.map(({ answer }) => answer[0]?.[1])),
]

const rangesOf = (places: readonly (readonly [number, Query])[]): Buffer[] => [
  byteas(places.map(([, { start }]) => start)),
  byteas(places.map(([, { end }]) => end as Bytes)),
  integers(places.map(([, { limit }]) => limit)),
  integers(places.map(([at]) => at)),
]

const NOTHING: QueryResult = []
const NONE: ReadonlyMap<string, QueryResult> = new Map()

const entryOf = (key: string, value: string): Entry => [bytesOf(key), bytesOf(value)]

/** A key that is gone comes without a value. */
const answersByKey = (rows: readonly Row[]): Map<string, QueryResult> =>
  new Map(
    rows.map(([text, value]) => {
      const key = bytesOf(text!)
      return [keyText(key), value == null ? NOTHING : [[key, bytesOf(value)]]]
    }),
  )
