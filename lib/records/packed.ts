import type { Bytes, Entry, ReadTransaction, WriteTransaction } from '../storage/driver.ts'
import { keyText } from '../storage/layer.ts'
import type { IndexEntry } from './collection.ts'
import { encodeKey, type KeyTuple, rangeBelow } from './keys.ts'
import { grownKey, packsOf } from './layout.ts'
import { Pack } from './pack.ts'
import type { FoundEntries } from './spread.ts'

/**
 * A list of an index whose entries are gone through by the hundred thousand, to look for a word in each. What changes is
 * written entry by entry, as in every index: these are **loose**. When many are, they are moved into **packs** in steps
 * of their own (packing.ts), which no change waits for. What is looked for is looked for in both. An entry is in one of
 * them; one that is in a pack, and is gone, has a loose entry that says so and nothing else.
 */
export interface PackedList {
  readonly loose: Range
  readonly packs: Range
  /** There while the list may have grown enough to be packed: the order to go on from, or nothing. */
  readonly grown: Bytes
  /** What the keys of the records begin with. */
  readonly records: Bytes
}

interface Range {
  readonly start: Bytes
  readonly end: Bytes
}

export const packedList = (collection: string, index: string, head: KeyTuple): PackedList => ({
  loose: rangeBelow([collection, 'o', index, ...head]),
  packs: rangeBelow(packsOf(collection, index, head)),
  grown: grownKey(collection, index, head),
  records: rangeBelow([collection, 'r']).start,
})

/** What is said of a list that has grown, and of which nothing is packed yet. */
export const BEGINNING: Bytes = new Uint8Array(0)

/** Says of an entry that is in a pack that it is gone. */
export const GONE: Bytes = new Uint8Array(0)
export const isGone = (value: Bytes): boolean => value.length === 0

/** Bytes at the end of an order that are the id of its record: one number. */
export const ID = encodeKey([1]).length

export const recordKeyOf = (records: Bytes, order: Bytes): Bytes =>
  Buffer.concat([records, order.subarray(order.length - ID)])

const entryOf = ({ records }: PackedList, order: Bytes): IndexEntry => ({
  order,
  recordKey: recordKeyOf(records, order),
})

export const orderOf = ({ loose }: PackedList, [key]: Entry): Bytes => key.subarray(loose.start.length)

/** All entries, in their order. */
export async function* entriesOf(tx: ReadTransaction, list: PackedList): AsyncGenerator<IndexEntry> {
  const loose = tx.range(list.loose)[Symbol.asyncIterator]()
  try {
    let next = await loose.next()
    for await (const [, value] of tx.range(list.packs))
      for (const order of new Pack(value).orders()) {
        let isThere = true
        for (; !next.done; next = await loose.next()) {
          const own = orderOf(list, next.value)
          const difference = Buffer.compare(own, order)
          if (difference > 0) break
          if (difference === 0) isThere = false
          else if (!isGone(next.value[1])) yield entryOf(list, own)
        }
        if (isThere) yield entryOf(list, order)
      }
    for (; !next.done; next = await loose.next())
      if (!isGone(next.value[1])) yield entryOf(list, orderOf(list, next.value))
  } finally {
    await loose.return?.()
  }
}

/**
 * The first entries whose texts have the word, as many as `most`, and how many have it in all: where that is not asked
 * for, no more is read than the first ones take.
 */
export const findIn = async (
  tx: ReadTransaction,
  list: PackedList,
  word: string,
  most: number,
  isCounted: boolean,
): Promise<FoundEntries> => {
  const asked = { list, word: Buffer.from(encodeKey([word])), most, isCounted }
  const loose = await findLoose(tx, asked)
  const packed = await findPacked(tx, asked, loose.gone)
  const orders = [...loose.first, ...packed.first].sort(Buffer.compare).slice(0, most)
  return { entries: orders.map((order) => entryOf(list, order)), total: loose.total + packed.total }
}

interface Asked {
  list: PackedList
  word: Buffer
  most: number
  isCounted: boolean
}

const findLoose = async (tx: ReadTransaction, { list, word, most, isCounted }: Asked) => {
  const first: Bytes[] = []
  const gone = new Set<string>()
  let total = 0
  for await (const entry of tx.range(list.loose)) {
    const order = orderOf(list, entry)
    if (isGone(entry[1])) gone.add(keyText(order))
    else if (hasWord(order, word) && total++ < most) first.push(order)
    // Whatever comes behind these is not among the first, be it gone or not.
    if (!isCounted && total >= most) break
  }
  return { first, total, gone }
}

const findPacked = async (
  tx: ReadTransaction,
  { list, word, most, isCounted }: Asked,
  gone: ReadonlySet<string>,
) => {
  const first: Bytes[] = []
  let total = 0
  const text = word.toString('latin1')
  for await (const [, value] of tx.range(list.packs)) {
    const pack = new Pack(value)
    const found = pack.having(text, ID)
    const there = gone.size === 0 ? found : found.filter((at) => !gone.has(keyText(pack.order(at))))
    for (const at of there.slice(0, Math.max(0, most - total))) first.push(pack.order(at))
    total += there.length
    if (!isCounted && total >= most) break
  }
  return { first, total }
}

/** Whether the texts of an entry have the word. Keys hold the bytes of texts as they are, so nothing is decoded. */
export const hasWord = ({ buffer, byteOffset, length }: Bytes, word: Buffer): boolean =>
  Buffer.from(buffer, byteOffset, length - ID).includes(word)

/** What is loose of an entry that comes: it may be in a pack still, from before it was gone. */
export const addLoose = (
  tx: WriteTransaction,
  key: Bytes,
  held: Bytes | undefined,
  recordKey: Bytes,
): void => {
  if (held !== undefined && isGone(held)) tx.delete(key)
  else tx.put(key, recordKey)
}

/** What is loose of an entry that goes: where it is in a pack, that it is gone. */
export const removeLoose = (tx: WriteTransaction, key: Bytes, held: Bytes | undefined): void => {
  if (held === undefined) tx.put(key, GONE)
  else if (!isGone(held)) tx.delete(key)
}
