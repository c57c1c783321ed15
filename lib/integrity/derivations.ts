import { add, type Sum, subtract } from '../integers.ts'
import { decodeKey, encodeKey } from '../records/key-codec.ts'
import type { Bytes } from '../storage/index.ts'
import type { AmountSource, Recount } from './checks.ts'
import type { ComparedKey, Emit } from './comparison.ts'
import type { Fault } from './faults.ts'
import type { Find } from './lookups.ts'

/** State that follows from records: an index, the counters of an index, or a recount that a domain declares. */
export interface Derivation {
  readonly kind: 'index' | 'counter' | 'recount'
  readonly sources: readonly RecordSource[]
  readonly ranges: readonly StoredRange[]
  fault(difference: ComparedKey): Fault
  /** The stored form of a counter. */
  encode?(count: Sum): Bytes
}

/** What the records of a collection contribute to one side. */
interface RecordSource {
  readonly collection: string
  readonly side: 'expected' | 'actual'
  emitFrom(record: unknown, recordKey: Bytes, emit: Emit, find: Find): void
}

/** Where the actual side is stored, unless it is in records. */
interface StoredRange {
  readonly prefix: readonly string[]
  /** What an entry is called in messages. */
  readonly entry: string
  /** @returns a reader for one pass, which gets the entries in the order of their keys */
  read(emit: Emit): EntryReader
}

/** @returns how many entries or counters the value holds; undefined when it is malformed */
type EntryReader = (key: Bytes, value: Bytes) => number | undefined

export const recountDerivation = (recount: Recount): Derivation => ({
  kind: 'recount',
  sources: [
    ...recount.expected.map((source) => amountsOf(recount, source, 'expected')),
    ...recount.actual.map((source) => amountsOf(recount, source, 'actual')),
  ],
  ranges: [],
  fault: (difference) => recountFault(recount, difference),
})

/** A key without an amount equals one with 0, unless the keys themselves must match: then 1 is added to each amount. */
const amountsOf = (
  { matchesKeys = false }: Recount,
  { collection, addTo }: AmountSource,
  side: RecordSource['side'],
): RecordSource => ({
  collection,
  side,
  emitFrom(record, _, emit, find) {
    const addAmount = (key: Parameters<typeof encodeKey>[0], amount: Sum) => {
      if (matchesKeys) emit(encodeKey(key), add(amount, 1))
      else if (amount !== 0) emit(encodeKey(key), amount)
    }
    addTo(record, addAmount, find)
  },
})

const recountFault = (
  { name, matchesKeys = false, repair }: Recount,
  { key, expected, actual }: ComparedKey,
): Fault => {
  const tuple = decodeKey(key)
  const describe = (amount: Sum) => {
    if (!matchesKeys) return amount
    return amount === 0 ? 'missing' : subtract(amount, 1)
  }
  return {
    message: `${name} ${tuple.join(' ')} is ${describe(actual)}, but the records give ${describe(expected)}`,
    repair: repair && ((tx) => repair(tx, tuple, expected)),
  }
}
