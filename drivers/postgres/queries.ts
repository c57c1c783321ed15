import type { Bytes, Entry, KeyRange, ReadTransaction } from '../../lib/storage/index.ts'
import { keyText } from '../../lib/storage/write-buffer.ts'

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
