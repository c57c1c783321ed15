import {
  type Bytes,
  compareKeys,
  type Entry,
  type KeyRange,
  keyText,
  type ReadTransaction,
} from '../../lib/storage/index.ts'
import { bytesOf, type Row } from './statements.ts'

/** A read of one key, or of one page of a range. */
export interface Query {
  /** Equal queries have equal ids. */
  readonly id: string
  readonly start: Bytes
  /** Undefined for the query of the one key `start`. */
  readonly end?: Bytes
  readonly reverse: boolean
  readonly limit: number
}

/** The entries that a query finds, in its order: one or none for a key. */
export type QueryResult = readonly Entry[]

const keyQuery = (key: Bytes): Query => ({ id: keyText(key), start: copyOf(key), reverse: false, limit: 1 })

const rangeQuery = (start: Bytes, end: Bytes, reverse: boolean, limit: number): Query => ({
  // The text of a key has characters up to U+00FF only, so a range never has the id of a key.
  id: `\u0100${start.length} ${limit} ${reverse} ${keyText(start)}${keyText(end)}`,
  start: copyOf(start),
  end: copyOf(end),
  reverse,
  limit,
})

/** Callers may change their array later, and one of Node's pool would keep 8 KiB in memory. */
const copyOf = (key: Bytes): Bytes => new Uint8Array(key)

/** Entries of the first page of a range, and of those after it. */
const [FIRST_PAGE, NEXT_PAGE] = [256, 1024]

/**
 * @param run answers in one statement the queries that were issued before anything else had to be waited for,
 *   in their order
 */
export const readTransaction = (
  run: (queries: readonly Query[]) => Promise<readonly QueryResult[]>,
): ReadTransaction => {
  const ask = batched(run)
  const get = async (key: Bytes) => (await ask(keyQuery(key)))[0]?.[1]
  return {
    get,
    getMany: (keys) => Promise.all(keys.map(get)),
    range: (range) => pagesOf(ask, range),
  }
}

async function* pagesOf(
  ask: (query: Query) => Promise<QueryResult>,
  { start, end, reverse = false, limit = Number.POSITIVE_INFINITY }: KeyRange,
): AsyncIterable<Entry> {
  let size = FIRST_PAGE
  for (let remaining = limit; remaining > 0; size = NEXT_PAGE) {
    const wanted = Math.min(remaining, size)
    const page = await ask(rangeQuery(start, end, reverse, wanted))
    yield* page
    if (page.length < wanted) return
    remaining -= wanted
    if (reverse) end = page.at(-1)![0]
    else start = nextKey(page.at(-1)![0])
  }
}

/** The smallest key that is greater. */
const nextKey = (key: Bytes): Bytes => {
  const next = new Uint8Array(key.length + 1)
  next.set(key)
  return next
}

/** Resolves when all that can run without waiting for the outside has run. */
const whenIdle = () => Promise.resolve().then(() => new Promise<void>((resolve) => process.nextTick(resolve)))

const batched = (
  run: (queries: readonly Query[]) => Promise<readonly QueryResult[]>,
): ((query: Query) => Promise<QueryResult>) => {
  let batch: { queries: Query[]; results: Promise<readonly QueryResult[]> } | undefined
  const openBatch = () => {
    const queries: Query[] = []
    const results = whenIdle().then(() => {
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

const isRange = (query: Query): query is Query & { end: Bytes } => query.end !== undefined

/** Parameters of the statement `read`. */
export const readValues = (queries: readonly Query[]): unknown[] => {
  const ranges = queries.filter(isRange)
  return [
    queries.filter((query) => !isRange(query)).map(({ start }) => start),
    ranges.map(({ start }) => start),
    ranges.map(({ end }) => end),
    ranges.map(({ limit }) => limit),
    ranges.map(({ reverse }) => reverse),
  ]
}

/** Results of the queries in their order, from the rows of the statement `read`. */
export const readResults = (queries: readonly Query[], rows: readonly Row[]): QueryResult[] => {
  const values = new Map<string, Bytes>()
  const pages = queries.filter(isRange).map((): Entry[] => [])
  for (const [position, key, value] of rows) {
    const entry = [bytesOf(key!), bytesOf(value!)] as const
    if (position === null) values.set(keyText(entry[0]), entry[1])
    else pages[Number(position) - 1]!.push(entry)
  }
  let ranges = 0
  return queries.map((query) => {
    if (isRange(query)) return sorted(pages[ranges++]!, query.reverse)
    const value = values.get(query.id)
    return value === undefined ? [] : [[query.start, value]]
  })
}

/** UNION ALL does not guarantee an order. */
const sorted = (page: Entry[], reverse: boolean): Entry[] => {
  page.sort(([left], [right]) => compareKeys(left, right))
  return reverse ? page.reverse() : page
}
