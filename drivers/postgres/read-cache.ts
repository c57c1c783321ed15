import { LRUCache } from 'lru-cache'
import { type Bytes, compareKeys, StorageError } from '../../lib/storage/index.ts'
import type { Connections } from './connections.ts'
import { isLost } from './errors.ts'
import { MAX_BROKEN_CONNECTIONS } from './plain.ts'
import { type Asked, askAll, keyQuery, type Query, type QueryResult, type Told } from './queries.ts'

/** An answer, and the moment that it is from: of two, the larger number is the later one. */
export interface CachedResult {
  readonly query: Query
  readonly answer: QueryResult
  readonly moment: number
}

/**
 * What the database answered before. Nothing here is trusted: it is where work begins, and what the work has gone by is
 * compared with the database in the same round trip that reads or writes for it. So what is wrong costs a round trip,
 * never an answer.
 */
export class ReadCache {
  readonly #known: LRUCache<string, CachedResult>
  #moment = 0

  /** @param size bytes that it may take */
  constructor(size: number) {
    this.#known = new LRUCache({ maxSize: size, maxEntrySize: size / 64, sizeCalculation: sizeOf })
  }

  /** A number for now. */
  next(): number {
    return ++this.#moment
  }

  get(id: string): CachedResult | undefined {
    return this.#known.get(id)
  }

  has(id: string): boolean {
    return this.#known.has(id)
  }

  note(known: CachedResult): void {
    const before = this.#known.peek(known.query.id)
    if (before === undefined || before.moment <= known.moment) this.#known.set(known.query.id, known)
  }

  forget(id: string): void {
    this.#known.delete(id)
  }

  /** What a write has left behind. */
  noteChanges(changes: Iterable<readonly [key: Bytes, value: Bytes | undefined]>): void {
    const moment = this.next()
    for (const [key, value] of changes)
      this.note({ query: keyQuery(key), answer: value === undefined ? [] : [[key, value]], moment })
  }
}

/** What a map and its objects take besides the bytes, roughly. */
const OVERHEAD = 300

export const sizeOf = ({ query, answer }: CachedResult): number => {
  let size = OVERHEAD + query.id.length
  for (const [key, value] of answer) size += key.length + value.length + OVERHEAD
  return size
}

export const isSame = (one: QueryResult, other: QueryResult): boolean =>
  one === other ||
  (one.length === other.length &&
    one.every(([key, value], at) => {
      const [otherKey, otherValue] = other[at]!
      return compareKeys(key, otherKey) === 0 && compareKeys(value, otherValue) === 0
    }))

/** Statements under way at once: what is asked meanwhile goes together in the next. */
const CONCURRENCY = 2
/** Questions in one statement; more leave in another. */
const MAX = 500

interface Room {
  readonly queries: Map<string, Query>
  readonly expected: Map<string, CachedResult>
  readonly answered: Promise<Map<string, CachedResult>>
  readonly settle: (answers: Promise<Map<string, CachedResult>>) => void
}

/**
 * Asks the database, everybody's questions together: one statement sees one moment, and that is later than the query
 * of whoever is answered by it.
 */
export class ReadBatcher {
  readonly #connections: Connections
  readonly #recollection: ReadCache
  #waiting: Room[] = []
  #underway = 0

  constructor(connections: Connections, readCache: ReadCache) {
    this.#connections = connections
    this.#recollection = readCache
  }

  /**
   * The answers by the questions' ids, all of one moment, and noted.
   * @param expected what is likely still so; it is answered too, by itself where it is.
   */
  ask(queries: Iterable<Query>, expected: Iterable<CachedResult> = []): Promise<Map<string, CachedResult>> {
    const room = this.#room()
    for (const query of queries) room.queries.set(query.id, query)
    for (const known of expected) expect(room, known)
    return room.answered
  }

  #room(): Room {
    const last = this.#waiting.at(-1)
    if (last !== undefined && last.queries.size + last.expected.size < MAX) return last
    const room = newRoom()
    this.#waiting.push(room)
    // Whoever is ready in this turn of the event loop joins before it leaves.
    if (this.#underway < CONCURRENCY) setImmediate(() => this.#leave())
    return room
  }

  #leave(): void {
    if (this.#underway >= CONCURRENCY) return
    const room = this.#waiting.shift()
    if (room === undefined) return
    this.#underway++
    const answers = this.#look(room)
    room.settle(answers)
    answers
      .catch(() => undefined)
      .then(() => {
        this.#underway--
        this.#leave()
      })
  }

  async #look(room: Room): Promise<Map<string, CachedResult>> {
    const moment = this.#recollection.next()
    const queries = [...room.queries.values()]
    const { answers, others } = await this.#untilReached({ queries, expected: [...room.expected.values()] })
    const known = new Map<string, CachedResult>()
    for (const { query, answer } of room.expected.values()) {
      const other = others.get(query.id)
      const one = { query, answer: other ?? answer, moment }
      known.set(query.id, one)
      if (other !== undefined || !this.#recollection.has(query.id)) this.#recollection.note(one)
    }
    for (const [at, query] of queries.entries()) {
      const one = { query: query, answer: answers[at]!, moment }
      known.set(query.id, one)
      this.#recollection.note(one)
    }
    return known
  }

  async #untilReached(asked: Asked): Promise<Told> {
    const { read, statements, explain } = this.#connections
    for (let times = 1; ; times++)
      try {
        return await askAll(read, statements, asked)
      } catch (error) {
        const isWorthwhile =
          isLost(error) && !(error instanceof StorageError) && times < MAX_BROKEN_CONNECTIONS
        if (!isWorthwhile) throw explain(error)
      }
  }
}

/** Pages are asked for outright, and so is what two expect differently. */
const expect = ({ queries, expected }: Room, known: CachedResult): void => {
  const { query, answer } = known
  if (queries.has(query.id)) return
  const before = expected.get(query.id)
  if (query.end !== undefined || (before !== undefined && !isSame(before.answer, answer)))
    queries.set(query.id, query)
  else if (before === undefined) expected.set(query.id, known)
}

const newRoom = (): Room => {
  let settle!: (answers: Promise<Map<string, CachedResult>>) => void
  const answered = new Promise<Map<string, CachedResult>>((resolve) => {
    settle = resolve
  })
  // Each who asked hears of a failure; when nobody waits any more it must not end the process.
  answered.catch(() => undefined)
  return { queries: new Map(), expected: new Map(), answered, settle }
}
