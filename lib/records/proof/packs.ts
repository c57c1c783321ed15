import type { Bytes } from '../../storage/driver.ts'
import { rangeBelow } from '../keys.ts'
import { packsOf } from '../layout.ts'
import { Pack } from '../pack.ts'
import { addLoose, ID, isGone, recordKeyOf, removeLoose } from '../packed.ts'
import type { Kept } from './balances.ts'
import { keyWords, tupleOf } from './collections.ts'
import type { Fault } from './declare.ts'
import { explainEntry } from './explain.ts'
import type { Compared } from './sides.ts'

/** What is kept of a packed index: entries that are loose and entries in packs, which together are those there are. */
export const packedKept = (
  collection: string,
  index: string,
): Pick<Kept, 'balance' | 'hold'> & { packs: Kept[] } => {
  const records = rangeBelow([collection, 'r']).start
  const explain = (one: Compared) => explainPacked(`${collection} by ${index}`, one)
  const balance = { isOwn: true, explain }
  return {
    balance,
    hold(sides, key, value) {
      const amount = isGone(value) ? -1 : 1
      sides.held(key, amount, isGone(value) ? recordKeyOf(records, key) : value)
      return amount
    },
    packs: [
      {
        ...{ balance, kind: 'index', prefix: [collection, 'p', index] },
        hold: holdingPacks(collection, index, records),
      },
    ],
  }
}

const holdingPacks = (collection: string, index: string, records: Bytes): Kept['hold'] => {
  const [packs, entries] = [rangeBelow(packsOf(collection, index, [])), rangeBelow([collection, 'o', index])]
  const entry = new Written(entries.start)
  const record = new Written(records)
  /** The pack before, and its last entry. */
  let before: { pack: Bytes; last: Bytes } | undefined
  return (sides, key, value) => {
    const orders = ordersIn(value)
    if (orders === undefined || !endsWith(key, orders[0]!)) return undefined
    const list = key.subarray(packs.start.length, key.length - orders[0]!.length)
    // A pass begins again with the first pack.
    const isNext = before !== undefined && Buffer.compare(before.pack, key) < 0
    if (isNext && Buffer.compare(before!.last, entry.with(list, orders[0]!)) >= 0) return undefined
    for (const order of orders) sides.held(entry.with(list, order), 1, record.with(order.subarray(-ID)))
    before = { pack: new Uint8Array(key), last: new Uint8Array(entry.with(list, orders.at(-1)!)) }
    return orders.length
  }
}

/** More than the texts of any record take. */
const LONGEST = 3000

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
    const orders = [...new Pack(value).orders()]
    return orders.every(({ length }) => length > ID && length < LONGEST) && isAscending(orders)
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
export const isGrown = (key: Bytes, head: number): boolean => tupleOf(key)?.length === 3 + head

/** The same as of any index; what is loose is mended, and the packs stay as they are. */
const explainPacked = (index: string, one: Compared): Fault => {
  const { key, due, held, dueValues } = one
  const { says, mend } = explainEntry(index, one)
  if (mend === undefined) return { says }
  if (held > due)
    return {
      says,
      async mend(tx) {
        removeLoose(tx, key, await tx.get(key))
        return true
      },
    }
  if (held < due)
    return {
      says: due === 0 ? `the index of ${index} says that ${keyWords(key)} is gone, and it is nowhere` : says,
      async mend(tx) {
        addLoose(tx, key, await tx.get(key), dueValues[0] ?? new Uint8Array(0))
        return true
      },
    }
  return { says, mend }
}
