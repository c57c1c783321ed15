import {
  type Bytes,
  compareKeys,
  type Entry,
  type KeyRange,
  keyText,
  type ReadTransaction,
} from '../../lib/storage/index.ts'
import type { Row } from './connections.ts'
import type { CachedResult } from './read-cache.ts'
import { byteas, bytesOf, integers, type Statement, type Statements } from './statements.ts'

/** What is asked of the database: one key, or a page of a range. */
export interface Query {
  /** The same for the same question. */
  readonly id: string
  readonly start: Bytes
  /** Undefined: the one key `start`. */
  readonly end?: Bytes
  readonly reverse: boolean
  readonly limit: number
}

/** In the order of the question; of one key, itself or nothing. */
export type QueryResult = readonly Entry[]

/** Asks several questions at one moment. */
export type RunQueries = (queries: readonly Query[]) => Promise<QueryResult[]>

export const keyQuery = (key: Bytes): Query => ({ id: keyText(key), start: key, reverse: false, limit: 1 })

export const rangeQuery = (start: Bytes, end: Bytes, reverse: boolean, limit: number): Query => ({
  // No character of a key's text is beyond U+00FF, so that no key is taken for a page.
  id: `\u0100${start.length} ${limit} ${reverse} ${keyText(start)}${keyText(end)}`,
  start,
  end,
  reverse,
  limit,
})

/** How many entries are fetched at once, at the least and at the most. */
const [SMALL, LARGE] = [16, 256]

/** In few sizes, so that lists which differ a little ask the same question. */
const pageSize = (wanted: number): number => {
  let size = SMALL
  while (size < wanted && size < LARGE) size *= 2
  return size
}

/** A read transaction by way of questions; those that come in the same moment are asked together. */
export const transactionOver = (ask: RunQueries): ReadTransaction => {
  const together = gathered(ask)
  const one = async (key: Bytes) => (await together(keyQuery(key)))[0]?.[1]
  return {
    get: one,
    getMany: (keys) => Promise.all(keys.map(one)),
    range: (range) => pagesOf(together, range),
  }
}

async function* pagesOf(
  ask: (query: Query) => Promise<QueryResult>,
  { start, end, reverse = false, limit = Number.POSITIVE_INFINITY }: KeyRange,
): AsyncIterable<Entry> {
  for (let left = limit; left > 0; ) {
    const size = pageSize(left)
    const page = await ask(rangeQuery(start, end, reverse, size))
    yield* page.slice(0, left)
    if (page.length < size) return
    left -= size
    if (reverse) end = page.at(-1)![0]
    else start = nextKey(page.at(-1)![0])
  }
}

/** The first key that there can be after this one. */
export const nextKey = (key: Bytes): Bytes => {
  const next = new Uint8Array(key.length + 1)
  next.set(key)
  return next
}

interface Waiting {
  readonly query: Query
  readonly resolve: (answer: QueryResult) => void
  readonly reject: (error: unknown) => void
}

/** Questions of the same turn of the event loop's microtasks leave as one. */
const gathered = (ask: RunQueries): ((query: Query) => Promise<QueryResult>) => {
  let waiting: Waiting[] = []
  const leave = () => {
    const leaving = waiting
    waiting = []
    ask(leaving.map(({ query }) => query)).then(
      (answers) => {
        for (const [at, { resolve }] of leaving.entries()) resolve(answers[at]!)
      },
      (error) => {
        for (const { reject } of leaving) reject(error)
      },
    )
  }
  return (query) =>
    new Promise((resolve, reject) => {
      if (waiting.length === 0) queueMicrotask(leave)
      waiting.push({ query, resolve, reject })
    })
}

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
  const pages = pageRows(rows, places)
  return { answers: queries.map(({ id }, at) => pages.get(at) ?? found.get(id) ?? NOTHING), others: found }
}

const isOfKey = ({ end }: Query): boolean => end === undefined

const pageRows = (
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
