import { randomInt } from 'node:crypto'
import type { Bytes, ReadTransaction, WriteTransaction } from '../storage/driver.ts'
import type { KeyTuple } from './keys.ts'
import { counterKey, counterName, orderedKey } from './layout.ts'
import { decodeValue, encodeValue } from './values.ts'

/** Many places for one record in one index, such as the parts of its name. */
export interface Spread<R> {
  /** What the places are made from; while it stays the same, nothing is written. Undefined keeps the record out. */
  from: (record: R) => KeyTuple | undefined
  places: (from: KeyTuple) => readonly KeyTuple[]
  /** How many members of a place say what it is counted with. */
  counted: number
}

/** How many entries begin with a place, and a number that is another one after every change of them. */
export interface StampedCount {
  count: number
  /** 0 where nothing was ever there. */
  stamp: number
}

export interface SpreadIndex<R> {
  /** Takes the entries and counts from those of one record to those of another in its place. */
  move(tx: WriteTransaction, before: R | undefined, record: R | undefined, recordKey: Bytes): Promise<void>
  count(tx: ReadTransaction, place: KeyTuple): Promise<StampedCount>
}

const NOTHING: StampedCount = { count: 0, stamp: 0 }

/** Stamps are drawn by lot, so that no two processes need to agree on the next one. */
const STAMPS = 2 ** 48 - 1

/** Entries lie where those of an ordered index of the same name would: [collection, 'o', index, …place, …id]. */
export const spreadIndex = <R>(
  collection: string,
  index: string,
  spread: Spread<R>,
  id: (record: R) => KeyTuple,
): SpreadIndex<R> => {
  const { from, counted } = spread
  const entryKey = (place: KeyTuple, record: R) => orderedKey(collection, index, place, id(record))
  const countKey = (place: KeyTuple) => counterKey(counterName(collection, index), place)

  const recount = async (tx: WriteTransaction, changes: ReadonlyMap<string, Changed>) => {
    const changed = [...changes.values()]
    const keys = changed.map(({ place }) => countKey(place))
    const before = await tx.getMany(keys)
    for (const [at, { by, place }] of changed.entries()) {
      const count = stamped(before[at]).count + by
      if (count < 0)
        throw new Error(`counter ${collection}:${index} of ${place.join('/')} would become ${count}`)
      if (count === 0) tx.delete(keys[at]!)
      else tx.put(keys[at]!, stampedValue(count))
    }
  }

  return {
    async move(tx, before, record, recordKey) {
      if (JSON.stringify(before && from(before)) === JSON.stringify(record && from(record))) return
      const changes = new Map<string, Changed>()
      const note = (place: KeyTuple, by: number) => {
        const head = place.slice(0, counted)
        const text = JSON.stringify(head)
        changes.set(text, { place: head, by: (changes.get(text)?.by ?? 0) + by })
      }
      for (const place of placesOf(spread, before)) {
        tx.delete(entryKey(place, before!))
        note(place, -1)
      }
      for (const place of placesOf(spread, record)) {
        tx.put(entryKey(place, record!), recordKey)
        note(place, 1)
      }
      await recount(tx, changes)
    },
    count: async (tx, place) => stamped(await tx.get(countKey(place))),
  }
}

export const placesOf = <R>({ from, places }: Spread<R>, record: R | undefined): readonly KeyTuple[] => {
  const source = record === undefined ? undefined : from(record)
  return source === undefined ? [] : places(source)
}

/** What is kept of a place: its count, and a new stamp. */
export const stampedValue = (count: number): Bytes => encodeValue([count, randomInt(1, STAMPS)])

/** The count in what is kept of a place; undefined when it is none. */
export const stampedNumber = (value: Bytes): number | undefined => {
  try {
    const [count, stamp, ...rest] = decodeValue<unknown[]>(value)
    const isWhole = [count, stamp].every((one) => Number.isSafeInteger(one) && (one as number) > 0)
    return isWhole && rest.length === 0 ? (count as number) : undefined
  } catch {
    return undefined
  }
}

interface Changed {
  place: KeyTuple
  by: number
}

const stamped = (bytes: Bytes | undefined): StampedCount => {
  if (bytes === undefined) return NOTHING
  const [count, stamp] = decodeValue<[number, number]>(bytes)
  return { count, stamp }
}
