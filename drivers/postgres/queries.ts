import {
  type Bytes,
  compareKeys,
  type Entry,
  type KeyRange,
  keyText,
  type ReadTransaction,
} from '../../lib/storage/index.ts'
import { byteaArray, bytesOf, type Row, type Statement, type Statements } from './statements.ts'

/**
 * A read of one key, or of one page of a range. Both engines translate a {@link ReadTransaction} into
 * queries.
 */
export interface Query {
  /** Cache key: equal queries have equal ids. The id of a key query is the key's text. */
  readonly id: string
  readonly start: Bytes
  /** Undefined for the query of the one key `start`. */
  readonly end?: Bytes
  readonly reverse: boolean
  readonly limit: number
}

/**
 * The entries that a query finds, in its order. The result of a key query has one entry, or none when the key
 * is absent.
 */
export type QueryResult = readonly Entry[]

export const keyQuery = (key: Bytes): Query => ({ id: keyText(key), start: key, reverse: false, limit: 1 })

export const keyResult = (key: Bytes, value: Bytes | undefined): QueryResult =>
  value === undefined ? [] : [[key, value]]

export const isKeyQuery = ({ end }: Query): boolean => end === undefined

const rangeQuery = (start: Bytes, end: Bytes, reverse: boolean, limit: number): Query => ({
  // The text of a key has characters up to U+00FF only, so a range never has the id of a key.
  id: `\u0100${start.length} ${limit} ${reverse} ${keyText(start)}${keyText(end)}`,
  start,
  end,
  reverse,
  limit,
})

/**
 * Entries per page. Powers of two between these, so that reads with slightly different limits share a cached
 * page.
 */
const [MIN_PAGE, MAX_PAGE] = [16, 256]

const pageSize = (limit: number): number => {
  let size = MIN_PAGE
  while (size < limit && size < MAX_PAGE) size *= 2
  return size
}

/**
 * @param run answers the queries, which were issued in the same turn of the microtask queue, in their order.
 */
export const readTransaction = (
  run: (queries: readonly Query[]) => Promise<readonly QueryResult[]>,
): ReadTransaction => {
  const runBatched = batched(run)
  const get = async (key: Bytes) => (await runBatched(keyQuery(key)))[0]?.[1]
  return {
    get,
    getMany: (keys) => Promise.all(keys.map(get)),
    range: (range) => pagesOf(runBatched, range),
  }
}

async function* pagesOf(
  run: (query: Query) => Promise<QueryResult>,
  { start, end, reverse = false, limit = Number.POSITIVE_INFINITY }: KeyRange,
): AsyncIterable<Entry> {
  for (let remaining = limit; remaining > 0; ) {
    const size = pageSize(remaining)
    const page = await run(rangeQuery(start, end, reverse, size))
    yield* page.slice(0, remaining)
    if (page.length < size) return
    remaining -= size
    if (reverse) end = page.at(-1)![0]
    else start = nextKey(page.at(-1)![0])
  }
}

/** The smallest key that is greater. */
export const nextKey = (key: Bytes): Bytes => {
  const next = new Uint8Array(key.length + 1)
  next.set(key)
  return next
}

const batched = (
  run: (queries: readonly Query[]) => Promise<readonly QueryResult[]>,
): ((query: Query) => Promise<QueryResult>) => {
  let batch: { queries: Query[]; results: Promise<readonly QueryResult[]> } | undefined
  const openBatch = () => {
    const queries: Query[] = []
    const results = Promise.resolve().then(() => {
      batch = undefined
      return run(queries)
    })
    return { queries, results }
  }
  return async (query) => {
    batch ??= openBatch()
    const index = batch.queries.push(query) - 1
    return (await batch.results)[index]!
  }
}

/** A session, or the connections of which any runs the statement. */
interface Runner {
  run(statement: Statement, values: readonly unknown[]): Promise<Row[]>
}

/** Reads one page with a statement of its own, which any SQL database understands. */
export const runPage = async (
  runner: Runner,
  { ascending, descending }: Statements,
  { start, end, reverse, limit }: Query,
): Promise<QueryResult> => {
  const rows = await runner.run(reverse ? descending : ascending, [start, end, limit])
  return rows.map(([key, value]) => entryOf(key!, value!))
}

/**
 * Runs all queries in one statement, that is, in one snapshot.
 * @param expected key queries with their likely results, which are not sent again when they are right
 * @returns results by query id: of all `queries`, and of those `expected` that have another result
 */
export const runQueries = async (
  runner: Runner,
  statements: Statements,
  queries: readonly Query[],
  expected: readonly { query: Query; result: QueryResult }[] = [],
): Promise<Map<string, QueryResult>> => {
  const keys = byteaArray(queries.filter(isKeyQuery).map(({ start }) => start))
  const ranges = queries.filter((query) => !isKeyQuery(query))
  const expectations = [
    byteaArray(expected.map(({ query }) => query.start)),
    byteaArray(expected.map(({ result }) => result[0]?.[1])),
  ]
  if (queries.length === 0) return resultsOf([], await runner.run(statements.changed, expectations))
  if (ranges.length === 0 && expected.length === 0)
    return resultsOf(queries, await runner.run(statements.points, [keys]))
  const values = [keys, ...rangeArrays(ranges, false), ...rangeArrays(ranges, true), ...expectations]
  return resultsOf(queries, await runner.run(statements.queries, values))
}

const rangeArrays = (ranges: readonly Query[], isReverse: boolean): unknown[] => {
  const selected = [...ranges.entries()].filter(([, { reverse }]) => reverse === isReverse)
  return [
    byteaArray(selected.map(([, { start }]) => start)),
    byteaArray(selected.map(([, { end }]) => end)),
    selected.map(([, { limit }]) => limit),
    selected.map(([position]) => position),
  ]
}

const resultsOf = (queries: readonly Query[], rows: readonly Row[]): Map<string, QueryResult> => {
  const results = new Map<string, QueryResult>(queries.map(({ id }) => [id, []]))
  const ranges = queries.filter((query) => !isKeyQuery(query))
  const pages = ranges.map((): Entry[] => [])
  for (const [position, key, value] of rows)
    if (position != null) pages[Number(position)]!.push(entryOf(key!, value!))
    else {
      const bytes = bytesOf(key!)
      results.set(keyText(bytes), keyResult(bytes, value == null ? undefined : bytesOf(value)))
    }
  for (const [position, { id, reverse }] of ranges.entries()) {
    // UNION ALL does not guarantee an order.
    const page = pages[position]!.sort(([left], [right]) => compareKeys(left, right))
    results.set(id, reverse ? page.reverse() : page)
  }
  return results
}

const entryOf = (key: string, value: string): Entry => [bytesOf(key), bytesOf(value)]
