import type { Bytes } from '../../lib/storage/index.ts'
import { WriteBuffer } from '../../lib/storage/write-buffer.ts'
import type { ReadSet } from './optimistic.ts'
import { nextKey, type Query, type QueryResult } from './queries.ts'
import { isSame } from './read-cache.ts'

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
