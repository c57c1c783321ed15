import type { Bytes, Entry, ReadTransaction, WriteTransaction } from '../storage/driver.ts'
import { encodeBlock, PostingBlock } from './posting-block.ts'
import { isTombstone, orderOf, type PostingList } from './posting-list.ts'

export interface CompactionLimits {
  /** Loose entries of a list that are not worth a pack. */
  few: number
  /** Loose entries that one step packs, at most. */
  loose: number
  /** Packs that one step makes anew, at most. */
  packs: number
  /** Entries in a pack, at most. */
  size: number
}

/**
 * Moves the next loose entries of a list that has grown into packs. What says that it has grown says from where to go on,
 * too: what was moved from there is deleted, and to go over it once more takes a database longer and longer.
 */
export const compactNext = async (
  tx: WriteTransaction,
  list: PostingList,
  bounds: CompactionLimits,
): Promise<void> => {
  const from = await tx.get(list.compactionMark)
  if (from === undefined) return
  const start = Buffer.concat([list.loose.start, from])
  const loose: Entry[] = []
  for await (const entry of tx.range({ ...list.loose, start, limit: bounds.loose })) loose.push(entry)
  if (loose.length === 0 || (from.length === 0 && loose.length < bounds.few))
    return tx.delete(list.compactionMark)
  const concerned = await packsAround(tx, list, loose, bounds.packs)
  const taken = loose.slice(0, concerned.reaches)
  for (const [key] of [...concerned.packs, ...taken]) tx.delete(key)
  const orders = merged(
    concerned.packs.flatMap(([, value]) => [...new PostingBlock(value).orders()]),
    taken.map((entry) => ({ order: orderOf(list, entry), isGone: isTombstone(entry[1]) })),
  )
  for (const some of evenly(orders, bounds.size))
    tx.put(Buffer.concat([list.blocks.start, some[0]!]), encodeBlock(some))
  if (taken.length < bounds.loose && taken.length === loose.length) tx.delete(list.compactionMark)
  else tx.put(list.compactionMark, orderOf(list, taken.at(-1)!))
}

/** The packs that the first of the loose entries belong into, and how many of the loose entries those are. */
const packsAround = async (
  tx: ReadTransaction,
  { loose: { start }, blocks: range }: PostingList,
  loose: readonly Entry[],
  most: number,
): Promise<{ packs: Entry[]; reaches: number }> => {
  const places = loose.map(([key]) => Buffer.concat([range.start, key.subarray(start.length)]))
  const packs: Entry[] = []
  // The pack that the first one belongs into begins before it, or with it.
  const upToFirst = { start: range.start, end: Buffer.concat([places[0]!, GAP]) }
  for await (const entry of tx.range({ ...upToFirst, reverse: true, limit: 1 })) packs.push(entry)
  const after = { start: upToFirst.end, end: Buffer.concat([places.at(-1)!, GAP]) }
  for await (const entry of tx.range({ ...after, limit: most + 1 })) packs.push(entry)
  const [beyond] = packs[most] ?? []
  if (beyond === undefined) return { packs, reaches: loose.length }
  const reaches = places.filter((place) => Buffer.compare(place, beyond) < 0).length
  return { packs: packs.slice(0, most), reaches }
}

/** No key lies between one and the same with a zero byte after it. */
const GAP = Uint8Array.of(0)

/** Entries of packs with what came to them and without what is gone; each list is in its order. */
const merged = (packed: readonly Bytes[], loose: readonly { order: Bytes; isGone: boolean }[]): Bytes[] => {
  const orders: Bytes[] = []
  let at = 0
  for (const { order, isGone } of loose) {
    while (at < packed.length && Buffer.compare(packed[at]!, order) < 0) orders.push(packed[at++]!)
    if (at < packed.length && Buffer.compare(packed[at]!, order) === 0) at++
    if (!isGone) orders.push(order)
  }
  return [...orders, ...packed.slice(at)]
}

/** Parts of about the same length, none of them longer than `most`. */
const evenly = <T>(items: readonly T[], most: number): T[][] => {
  const parts = Math.ceil(items.length / most)
  return Array.from({ length: parts }, (_, part) =>
    items.slice(Math.floor((part * items.length) / parts), Math.floor(((part + 1) * items.length) / parts)),
  )
}
