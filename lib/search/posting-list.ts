import type { Bytes, Entry, ReadTransaction, WriteTransaction } from '../storage/driver.ts'
import { keyText } from '../storage/write-buffer.ts'
import type { IndexEntry } from '../records/collection.ts'
import type { SearchResult } from './inverted-index.ts'
import { encodeKey, type KeyTuple, rangeBelow } from '../records/key-codec.ts'
import { blocksPrefix, compactionMarkKey } from '../records/keys.ts'
import { PostingBlock } from './posting-block.ts'

/**
 * A list of an index whose entries are gone through by the hundred thousand, to look for a word in each. What changes is
 * written entry by entry, as in every index: these are **loose**. When many are, they are moved into **packs** in steps
 * of their own (compactor.ts), which no change waits for. What is looked for is looked for in both. An entry is in one of
 * them; one that is in a pack, and is gone, has a loose entry that says so and nothing else.
 */
export interface PostingList {
  readonly loose: Range
  readonly blocks: Range
  /** There while the list may have grown enough to be packed: the order to go on from, or nothing. */
  readonly compactionMark: Bytes
  /** What the keys of the records begin with. */
  readonly records: Bytes
}

interface Range {
  readonly start: Bytes
  readonly end: Bytes
}

export const postingList = (collection: string, index: string, head: KeyTuple): PostingList => ({
  loose: rangeBelow([collection, 'o', index, ...head]),
  blocks: rangeBelow(blocksPrefix(collection, index, head)),
  compactionMark: compactionMarkKey(collection, index, head),
  records: rangeBelow([collection, 'r']).start,
})

/** What is said of a list that has grown, and of which nothing is packed yet. */
export const COMPACTION_START: Bytes = new Uint8Array(0)

/** Says of an entry that is in a pack that it is gone. */
export const TOMBSTONE: Bytes = new Uint8Array(0)
export const isTombstone = (value: Bytes): boolean => value.length === 0

/** Bytes at the end of an order that are the id of its record: one number. */
export const ID_LENGTH = encodeKey([1]).length

export const recordKeyOf = (records: Bytes, order: Bytes): Bytes =>
  Buffer.concat([records, order.subarray(order.length - ID_LENGTH)])

const entryOf = ({ records }: PostingList, order: Bytes): IndexEntry => ({
  order,
  recordKey: recordKeyOf(records, order),
})

export const orderOf = ({ loose }: PostingList, [key]: Entry): Bytes => key.subarray(loose.start.length)

/** All entries, in their order. */
export async function* postingsOf(tx: ReadTransaction, list: PostingList): AsyncGenerator<IndexEntry> {
  const loose = tx.range(list.loose)[Symbol.asyncIterator]()
  try {
    let next = await loose.next()
    for await (const [, value] of tx.range(list.blocks))
      for (const order of new PostingBlock(value).orders()) {
        let isThere = true
        for (; !next.done; next = await loose.next()) {
          const own = orderOf(list, next.value)
          const difference = Buffer.compare(own, order)
          if (difference > 0) break
          if (difference === 0) isThere = false
          else if (!isTombstone(next.value[1])) yield entryOf(list, own)
        }
        if (isThere) yield entryOf(list, order)
      }
    for (; !next.done; next = await loose.next())
      if (!isTombstone(next.value[1])) yield entryOf(list, orderOf(list, next.value))
  } finally {
    await loose.return?.()
  }
}

/**
 * The first entries whose texts have the word, as many as `most`, and how many have it in all: where that is not asked
 * for, no more is read than the first ones take.
 */
export const searchPostings = async (
  tx: ReadTransaction,
  list: PostingList,
  word: string,
  most: number,
  isCounted: boolean,
): Promise<SearchResult> => {
  const asked = { list, word: Buffer.from(encodeKey([word])), most, isCounted }
  const loose = await searchLoose(tx, asked)
  const packed = await searchBlocks(tx, asked, loose.gone)
  const orders = [...loose.first, ...packed.first].sort(Buffer.compare).slice(0, most)
  return { entries: orders.map((order) => entryOf(list, order)), total: loose.total + packed.total }
}

interface PostingQuery {
  list: PostingList
  word: Buffer
  most: number
  isCounted: boolean
}

const searchLoose = async (tx: ReadTransaction, { list, word, most, isCounted }: PostingQuery) => {
  const first: Bytes[] = []
  const gone = new Set<string>()
  let total = 0
  for await (const entry of tx.range(list.loose)) {
    const order = orderOf(list, entry)
    if (isTombstone(entry[1])) gone.add(keyText(order))
    else if (containsWord(order, word) && total++ < most) first.push(order)
    // Whatever comes behind these is not among the first, be it gone or not.
    if (!isCounted && total >= most) break
  }
  return { first, total, gone }
}

const searchBlocks = async (
  tx: ReadTransaction,
  { list, word, most, isCounted }: PostingQuery,
  gone: ReadonlySet<string>,
) => {
  const first: Bytes[] = []
  let total = 0
  const text = word.toString('latin1')
  for await (const [, value] of tx.range(list.blocks)) {
    const pack = new PostingBlock(value)
    const found = pack.search(text, ID_LENGTH)
    const there = gone.size === 0 ? found : found.filter((at) => !gone.has(keyText(pack.order(at))))
    for (const at of there.slice(0, Math.max(0, most - total))) first.push(pack.order(at))
    total += there.length
    if (!isCounted && total >= most) break
  }
  return { first, total }
}

/** Whether the texts of an entry have the word. Keys hold the bytes of texts as they are, so nothing is decoded. */
export const containsWord = ({ buffer, byteOffset, length }: Bytes, word: Buffer): boolean =>
  Buffer.from(buffer, byteOffset, length - ID_LENGTH).includes(word)

/** What is loose of an entry that comes: it may be in a pack still, from before it was gone. */
export const addPosting = (
  tx: WriteTransaction,
  key: Bytes,
  held: Bytes | undefined,
  recordKey: Bytes,
): void => {
  if (held !== undefined && isTombstone(held)) tx.delete(key)
  else tx.put(key, recordKey)
}

/** What is loose of an entry that goes: where it is in a pack, that it is gone. */
export const removePosting = (tx: WriteTransaction, key: Bytes, held: Bytes | undefined): void => {
  if (held === undefined) tx.put(key, TOMBSTONE)
  else if (!isTombstone(held)) tx.delete(key)
}
