import { rangeBelow } from '../records/key-codec.ts'
import { pauseSince } from '../records/pacing.ts'
import type { Store } from '../records/store.ts'
import type { Bytes, Entry, ReadTransaction, WriteTransaction } from '../storage/index.ts'
import { type InvertedIndexOptions, MIN_COMPACTED } from './inverted-index.ts'
import {
  encodeBlock,
  isTombstone,
  listIn,
  orderOf,
  PostingBlock,
  type PostingList,
  postingList,
} from './posting-list.ts'

interface CompactionLimits {
  /** A compaction does not begin with fewer loose postings. */
  minLoose: number
  /** Loose postings that one step moves, at most. */
  maxLoose: number
  /** Blocks that one step rewrites, at most. */
  maxBlocks: number
  /** Postings in a block, at most. */
  blockSize: number
}

/** index.ts explains the numbers. */
export const DEFAULT_LIMITS: CompactionLimits = {
  minLoose: MIN_COMPACTED,
  maxLoose: 1000,
  maxBlocks: 32,
  blockSize: 512,
}

const INTERVAL_MS = 60_000

type Index = { readonly options: Pick<InvertedIndexOptions<never>, 'collection' | 'name' | 'isCompacted'> }

/** Moves the loose postings of marked lists into blocks in the background, with a pause after each step. */
export class Compactor {
  readonly #store: Store
  readonly #indexes: readonly Index[]
  readonly #onError: (error: unknown) => void
  readonly #limits: CompactionLimits
  readonly #stopping = new AbortController()
  #running: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined

  /** @param onError called when a step fails; the compactor tries again after a minute */
  constructor(
    store: Store,
    indexes: readonly Index[],
    onError: (error: unknown) => void,
    limits: CompactionLimits = DEFAULT_LIMITS,
  ) {
    this.#store = store
    this.#indexes = indexes.filter(({ options }) => options.isCompacted)
    this.#onError = onError
    this.#limits = limits
  }

  /** Looks for marked lists now, and every minute from now on. */
  start(): void {
    const run = () => {
      this.#running ??= this.#run()
    }
    run()
    this.#timer = setInterval(run, INTERVAL_MS).unref()
  }

  /**
   * Runs one step.
   * @returns whether there was a marked list
   */
  async step(): Promise<boolean> {
    const list = await this.#store.read((tx) => pickMarkedList(tx, this.#indexes))
    if (list === undefined) return false
    await this.#store.write((tx) => compactNext(tx, list, this.#limits))
    return true
  }

  /** Resolves after the current step. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    this.#stopping.abort()
    await this.#running
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping
    try {
      let begun = performance.now()
      while (!signal.aborted && (await this.step())) {
        await pauseSince(begun, signal)
        begun = performance.now()
      }
    } catch (error) {
      this.#onError(error)
    }
    this.#running = undefined
  }
}

/** A random list is taken out of so many, so that several processes rarely begin with the same one. */
const CANDIDATES = 16

const pickMarkedList = async (
  tx: ReadTransaction,
  indexes: readonly Index[],
): Promise<PostingList | undefined> => {
  for (const {
    options: { collection, name },
  } of indexes) {
    const marked: PostingList[] = []
    for await (const [key] of tx.range({ ...rangeBelow([collection, 'g', name]), limit: CANDIDATES }))
      marked.push(postingList(collection, name, listIn(key)))
    if (marked.length > 0) return marked[Math.floor(Math.random() * marked.length)]
  }
  return undefined
}

/** Moves the next loose postings of a marked list into blocks. */
const compactNext = async (
  tx: WriteTransaction,
  list: PostingList,
  limits: CompactionLimits,
): Promise<void> => {
  const position = await tx.get(list.compactionMark)
  if (position === undefined) return
  const start = Buffer.concat([list.loose.start, position])
  const loose: Entry[] = []
  for await (const entry of tx.range({ ...list.loose, start, limit: limits.maxLoose })) loose.push(entry)
  if (loose.length === 0 || (position.length === 0 && loose.length < limits.minLoose))
    return tx.delete(list.compactionMark)
  const { blocks, count } = await affectedBlocks(tx, list, loose, limits.maxBlocks)
  const moved = loose.slice(0, count)
  for (const [key] of [...blocks, ...moved]) tx.delete(key)
  const orders = mergeOrders(
    blocks.flatMap(([, value]) => [...new PostingBlock(value).orders()]),
    moved.map((entry) => ({ order: orderOf(list, entry), isRemoved: isTombstone(entry[1]) })),
  )
  for (const part of splitEvenly(orders, limits.blockSize))
    tx.put(Buffer.concat([list.blocks.start, part[0]!]), encodeBlock(part))
  const isLast = loose.length < limits.maxLoose && count === loose.length
  if (isLast) tx.delete(list.compactionMark)
  else tx.put(list.compactionMark, orderOf(list, moved.at(-1)!))
}

/** The first key after a key is the same with a zero byte at its end. */
const ZERO = Uint8Array.of(0)

/**
 * The first blocks, at most `limit`, that loose postings fall into, and how many of the loose postings those
 * are.
 */
const affectedBlocks = async (
  tx: ReadTransaction,
  { loose: { start }, blocks: range }: PostingList,
  loose: readonly Entry[],
  limit: number,
): Promise<{ blocks: Entry[]; count: number }> => {
  const keys = loose.map(([key]) => Buffer.concat([range.start, key.subarray(start.length)]))
  const blocks: Entry[] = []
  // The block that the first posting falls into begins before it, or with it.
  const upToFirst = { start: range.start, end: Buffer.concat([keys[0]!, ZERO]) }
  for await (const entry of tx.range({ ...upToFirst, reverse: true, limit: 1 })) blocks.push(entry)
  const after = { start: upToFirst.end, end: Buffer.concat([keys.at(-1)!, ZERO]) }
  for await (const entry of tx.range({ ...after, limit: limit + 1 })) blocks.push(entry)
  const [beyond] = blocks[limit] ?? []
  if (beyond === undefined) return { blocks, count: loose.length }
  const count = keys.filter((key) => Buffer.compare(key, beyond) < 0).length
  return { blocks: blocks.slice(0, limit), count }
}

/**
 * The orders of blocks, with the loose postings added and those with a tombstone removed; both lists are
 * sorted.
 */
const mergeOrders = (
  stored: readonly Bytes[],
  loose: readonly { order: Bytes; isRemoved: boolean }[],
): Bytes[] => {
  const orders: Bytes[] = []
  let index = 0
  for (const { order, isRemoved } of loose) {
    while (index < stored.length && Buffer.compare(stored[index]!, order) < 0) orders.push(stored[index++]!)
    if (index < stored.length && Buffer.compare(stored[index]!, order) === 0) index++
    if (!isRemoved) orders.push(order)
  }
  return [...orders, ...stored.slice(index)]
}

/** Splits a list into parts of about the same length, none longer than `limit`. */
const splitEvenly = <T>(items: readonly T[], limit: number): T[][] => {
  const parts = Math.ceil(items.length / limit)
  const boundary = (part: number) => Math.floor((part * items.length) / parts)
  return Array.from({ length: parts }, (_, part) => items.slice(boundary(part), boundary(part + 1)))
}
