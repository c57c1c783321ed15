import { type Bytes, keyText, StorageError, WriteBuffer } from '../../lib/storage/index.ts'
import type { Connections, Row, Writer } from './connections.ts'
import { isConflict, isLost } from './errors.ts'
import { holds, type ReadSet } from './optimistic.ts'
import { backoff, recoverOutcome } from './plain.ts'
import { keyQuery, nextKey, type Query, type QueryResult } from './queries.ts'
import { isSame, type ReadBatcher, type ReadCache } from './read-cache.ts'
import { byteas, bytesOf, integers } from './statements.ts'

export type BatchEnd = 'written' | 'overtaken' | { error: unknown }

/** More keys than this are not put into one batch. */
const FULL = 2000

/** Writes that go to the database as one: all that they change, and all that they have gone by. */
export class Batch {
  readonly layer = new WriteBuffer()
  readonly seen: ReadSet = new Map()
  readonly ended: Promise<BatchEnd>
  readonly end: (end: BatchEnd) => void
  /** Two of the writes have gone by different answers to one question, so that one of them is wrong. */
  isOvertaken = false

  constructor() {
    let end!: (end: BatchEnd) => void
    this.ended = new Promise((resolve) => {
      end = resolve
    })
    this.end = end
  }

  get isFull(): boolean {
    return this.layer.size + this.seen.size > FULL
  }

  join(seen: ReadSet, changes: WriteBuffer): void {
    for (const [id, known] of seen) {
      const before = this.seen.get(id)
      if (before === undefined) this.seen.set(id, known)
      else if (!isSame(before.answer, known.answer)) this.isOvertaken = true
    }
    this.layer.merge(changes)
  }
}

/** What must hold for a batch to be written: the values of keys, and how many keys there are in ranges. */
export interface Expected {
  readonly keys: [key: Bytes, value: Bytes | undefined][]
  readonly counts: { page: Query; answer: QueryResult; start: Bytes; end: Bytes }[]
}

/** A range is what it was when each of its entries is, and there are as many. */
export const expectedOf = (seen: ReadSet): Expected => {
  const expected: Expected = { keys: [], counts: [] }
  for (const { query, answer } of seen.values()) {
    if (query.end === undefined) expected.keys.push([query.start, answer[0]?.[1]])
    else {
      for (const [key, value] of answer) expected.keys.push([key, value])
      expected.counts.push({
        ...reachOf(query, query.end, answer),
        page: query,
        answer,
      })
    }
  }
  return expected
}

/** A page that is full says nothing of what lies behind its last entry. */
const reachOf = ({ start, reverse, limit }: Query, end: Bytes, answer: QueryResult) => {
  const last = answer.at(-1)?.[0]
  if (last === undefined || answer.length < limit) return { start, end }
  return reverse ? { start: last, end } : { start, end: nextKey(last) }
}

/** How often a batch is sent again as it is: whoever was in the way may not have changed what it goes by. */
const SENDINGS = 20

export interface Committing {
  readonly connections: Connections
  readonly readCache: ReadCache
  readonly batcher: ReadBatcher
}

/**
 * Sends a batch, in one round trip; what it has gone by is compared and what it changes is written at one moment.
 * @param met told each time that somebody else's transaction was in the way
 */
export const commit = async (
  fixture: Committing,
  batch: Batch,
  met: () => Promise<void>,
): Promise<BatchEnd> => {
  try {
    const end = batch.isOvertaken ? 'overtaken' : await sent(fixture, batch, met)
    if (end === 'written') fixture.readCache.noteChanges(batch.layer.changes())
    return end
  } catch (cause) {
    return { error: fixture.connections.explain(cause) }
  }
}

const sent = async (
  fixture: Committing,
  batch: Batch,
  met: () => Promise<void>,
): Promise<'written' | 'overtaken'> => {
  if (batch.layer.size === 0) return compared(fixture, batch)
  const expected = expectedOf(batch.seen)
  const values = valuesOf(expected, batch)
  for (let attempt = 0; attempt < SENDINGS; attempt++) {
    const end = await sentOnce(fixture, expected, values)
    if (end !== 'again') return end
    await met()
    await backoff(attempt)
  }
  throw new StorageError('busy', 'too many writes of the same things at once: try again in a moment')
}

/** Writes that change nothing have only to know that what they go by holds. */
const compared = async ({ batcher }: Committing, { seen }: Batch): Promise<'written' | 'overtaken'> => {
  if (seen.size === 0) return 'written'
  const before = [...seen.values()]
  return holds(before, await batcher.ask([], before)) ? 'written' : 'overtaken'
}

type Values = ReturnType<typeof valuesOf>

const sentOnce = async (
  fixture: Committing,
  expected: Expected,
  values: Values,
): Promise<'written' | 'overtaken' | 'again'> => {
  const { connections, readCache } = fixture
  const moment = readCache.next()
  let used: Writer | undefined
  try {
    const rows = await connections.withWriter((session, writer) => {
      used = writer
      const { holds, changed } = values
      return session.run(connections.statements.commit, [...holds, writer.id, ++writer.last, ...changed])
    })
    if (rows.length === 0) return 'again'
    if (rows[0]![0] === WRITTEN) return 'written'
    await learn(fixture, expected, rows, moment)
    return 'overtaken'
  } catch (error) {
    if (isConflict(error)) return 'again'
    if (used === undefined || !isLost(error)) throw error
    return (await recoverOutcome(connections, used)) === 'written' ? 'written' : 'again'
  }
}

const [WRITTEN, STALE] = ['0', '1']

/** What is true now: the values of keys came with the refusal, the pages that are not what they were are read again. */
const learn = async (
  { readCache, batcher }: Committing,
  { counts }: Expected,
  rows: readonly Row[],
  moment: number,
): Promise<void> => {
  const changed = new Set<string>()
  for (const [what, text, value] of rows) {
    const key = bytesOf(text!)
    changed.add(keyText(key))
    if (what !== STALE) continue
    const answer: QueryResult = value == null ? [] : [[key, bytesOf(value)]]
    readCache.note({ query: keyQuery(key), answer, moment })
  }
  const hasChanged = ({ start, answer }: Expected['counts'][number]) =>
    changed.has(keyText(start)) || answer.some(([key]) => changed.has(keyText(key)))
  const pages = counts.filter(hasChanged).map(({ page }) => page)
  if (pages.length > 0) await batcher.ask(pages)
}

const valuesOf = ({ keys, counts }: Expected, { layer }: Batch) => {
  const changes = [...layer.changes()]
  const puts = changes.filter(([, value]) => value !== undefined)
  const deletes = changes.filter(([, value]) => value === undefined)
  return {
    holds: [
      byteas(keys.map(([key]) => key)),
      byteas(keys.map(([, value]) => value)),
      byteas(counts.map(({ start }) => start)),
      byteas(counts.map(({ end }) => end)),
      integers(counts.map(({ answer }) => answer.length)),
    ],
    changed: [
      byteas(puts.map(([key]) => key)),
      byteas(puts.map(([, value]) => value)),
      byteas(deletes.map(([key]) => key)),
    ],
  }
}
