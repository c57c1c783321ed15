import { rangeBelow } from '../records/key-codec.ts'
import {
  addPosting,
  blocksPrefix,
  ID_LENGTH,
  isTombstone,
  PostingBlock,
  recordKeyOf,
  removePosting,
} from '../search/posting-list.ts'
import type { Bytes } from '../storage/driver.ts'
import type { Fault } from './checks.ts'
import type { ComparedKey } from './comparison.ts'
import type { ActualSource } from './derivations.ts'
import { explainEntry } from './faults.ts'
import { describeKey, tupleOf } from './records.ts'

/** What is kept of a packed index: entries that are loose and entries in packs, which together are those there are. */
export const postingSources = (
  collection: string,
  index: string,
): Pick<ActualSource, 'balance' | 'observe'> & { packs: ActualSource[] } => {
  const records = rangeBelow([collection, 'r']).start
  const explain = (one: ComparedKey) => explainPacked(`${collection} by ${index}`, one)
  const balance = { isOwn: true, explain }
  return {
    balance,
    observe(comparison, key, value) {
      const amount = isTombstone(value) ? -1 : 1
      comparison.actual(key, amount, isTombstone(value) ? recordKeyOf(records, key) : value)
      return amount
    },
    packs: [
      {
        ...{ balance, kind: 'index', prefix: [collection, 'p', index] },
        observe: holdingPacks(collection, index, records),
      },
    ],
  }
}

const holdingPacks = (collection: string, index: string, records: Bytes): ActualSource['observe'] => {
  const [packs, entries] = [
    rangeBelow(blocksPrefix(collection, index, [])),
    rangeBelow([collection, 'o', index]),
  ]
  const entry = new Written(entries.start)
  const record = new Written(records)
  /** The pack before, and its last entry. */
  let before: { pack: Bytes; last: Bytes } | undefined
  return (comparison, key, value) => {
    const orders = ordersIn(value)
    if (orders === undefined || !endsWith(key, orders[0]!)) return undefined
    const list = key.subarray(packs.start.length, key.length - orders[0]!.length)
    // A pass begins again with the first pack.
    const isNext = before !== undefined && Buffer.compare(before.pack, key) < 0
    if (isNext && Buffer.compare(before!.last, entry.with(list, orders[0]!)) >= 0) return undefined
    for (const order of orders)
      comparison.actual(entry.with(list, order), 1, record.with(order.subarray(-ID_LENGTH)))
    before = { pack: new Uint8Array(key), last: new Uint8Array(entry.with(list, orders.at(-1)!)) }
    return orders.length
  }
}

/** More than the texts of any record take. */
const MAX_LENGTH = 3000

/** Keys that are told one after the other and kept by nobody, in one place. */
class Written {
  readonly #bytes = Buffer.alloc(4096)
  readonly #length: number

  constructor(beginning: Bytes) {
    this.#bytes.set(beginning)
    this.#length = beginning.length
  }

  /** The beginning with these parts after it, until the next are asked for. */
  with(...parts: Bytes[]): Bytes {
    let length = this.#length
    for (const part of parts) {
      this.#bytes.set(part, length)
      length += part.length
    }
    return this.#bytes.subarray(0, length)
  }
}

/** The entries of a pack; undefined where it is none, or they are out of order. */
const ordersIn = (value: Bytes): Bytes[] | undefined => {
  try {
    const orders = [...new PostingBlock(value).orders()]
    return orders.every(({ length }) => length > ID_LENGTH && length < MAX_LENGTH) && isAscending(orders)
      ? orders
      : undefined
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

const endsWith = (key: Bytes, order: Bytes): boolean =>
  order.length < key.length && Buffer.compare(key.subarray(key.length - order.length), order) === 0

const isAscending = (orders: readonly Bytes[]): boolean =>
  orders.every((order, at) => at === 0 || Buffer.compare(orders[at - 1]!, order) < 0)

/** Whether a key names a list as what says that it has grown does. */
export const isCompactionMark = (key: Bytes, head: number): boolean => tupleOf(key)?.length === 3 + head

/** The same as of any index; what is loose is mended, and the packs stay as they are. */
const explainPacked = (index: string, one: ComparedKey): Fault => {
  const { key, expected, actual, expectedValues } = one
  const { message, repair } = explainEntry(index, one)
  if (repair === undefined) return { message }
  if (actual > expected)
    return {
      message,
      async repair(tx) {
        removePosting(tx, key, await tx.get(key))
        return true
      },
    }
  if (actual < expected)
    return {
      message:
        expected === 0
          ? `the index of ${index} says that ${describeKey(key)} is gone, and it is nowhere`
          : message,
      async repair(tx) {
        addPosting(tx, key, await tx.get(key), expectedValues[0] ?? new Uint8Array(0))
        return true
      },
    }
  return { message, repair }
}
