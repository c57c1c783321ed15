import type { Sum } from '../integers.ts'
import { encodeValue } from '../records/codec.ts'
import type { KeyTuple } from '../records/key-codec.ts'
import { counterKey, counterName, orderedKey, uniqueKey } from '../records/keys.ts'
import { decodeVersionedCount, encodeVersionedCount, postingKeysOf } from '../search/inverted-index.ts'
import type { Bytes } from '../storage/driver.ts'
import type { ComparedKey } from './comparison.ts'
import type { Derivation, RecordSource, StoredRange } from './derivations.ts'
import { deleteAction, describeKey, type Fault, putAction } from './faults.ts'
import { postingFault, postingRanges } from './postings.ts'
import { type CheckedCollection, checkedCollections, type IndexKeys, parseCount } from './records.ts'

/** The indexes of each collection, its counters, and the counters of its search indexes. */
export const storeDerivations = (): Derivation[] =>
  checkedCollections.flatMap((collection) => [
    indexes(collection),
    counters(collection, Object.keys(collection.counted), PLAIN_COUNT, countsOf(collection)),
    counters(
      collection,
      collection.search.map(({ name }) => name),
      VERSIONED_COUNT,
      postingCountsOf(collection),
    ),
  ])

const indexes = (collection: CheckedCollection): Derivation => {
  const { name, unique, ordered, search } = collection
  return {
    kind: 'index',
    sources: [{ collection: name, side: 'expected', emitFrom: entriesOf(collection) }],
    ranges: [
      ...Object.keys(unique).map((index) => entryRange([name, 'u', index])),
      ...Object.keys(ordered).map((index) => entryRange([name, 'o', index])),
      ...search.flatMap((options) =>
        options.isCompacted ? postingRanges(options) : [entryRange([name, 'o', options.name])],
      ),
    ],
    fault: (difference) => entryFault(name, difference),
  }
}

/** Emits each entry with its value, the key of the record. Postings of compacted indexes have no value (postings.ts). */
const entriesOf =
  ({ name, id, unique, ordered, search }: CheckedCollection): RecordSource['emitFrom'] =>
  (record, recordKey, emit) => {
    for (const [index, place] of placesOf(unique, record)) emit(uniqueKey(name, index, place), 1, recordKey)
    for (const [index, place] of placesOf(ordered, record))
      emit(orderedKey(name, index, place, id(record)), 1, recordKey)
    for (const options of search)
      for (const place of postingKeysOf(options, record)) {
        const value = options.isCompacted ? undefined : recordKey
        emit(orderedKey(name, options.name, place, id(record)), 1, value)
      }
  }

const placesOf = function* (keys: IndexKeys, record: unknown): Iterable<[index: string, place: KeyTuple]> {
  for (const [index, placeOf] of Object.entries(keys)) {
    const place = placeOf(record)
    if (place !== undefined) yield [index, place]
  }
}

const entryRange = (prefix: readonly string[]): StoredRange => ({
  prefix,
  entry: 'index entry',
  read: (emit) => (key, value) => {
    emit(key, 1, value)
    return 1
  },
})

const entryFault = (collection: string, difference: ComparedKey): Fault => {
  const { key, expectedValues, actualValue } = difference
  const [expected, another] = expectedValues
  const entry = `the index entry ${describeKey(key)}`
  if (expected === undefined)
    return actualValue === undefined
      ? postingFault(collection, difference)
      : { message: `${entry} follows from no record`, repair: deleteAction(key) }
  if (another !== undefined)
    return {
      message: `${entry} is claimed by several records: ${expectedValues.map(describeKey).join(', ')}`,
    }
  const record = describeKey(expected)
  return {
    message:
      actualValue === undefined
        ? `${entry} of the record ${record} is missing`
        : `${entry} must lead to the record ${record}, but leads elsewhere`,
    repair: putAction(key, expected),
  }
}

interface CountCodec {
  parse(value: Bytes): number | undefined
  encode(count: Sum): Bytes
}

const PLAIN_COUNT: CountCodec = { parse: parseCount, encode: encodeValue }
const VERSIONED_COUNT: CountCodec = {
  parse: decodeVersionedCount,
  encode: (count) => encodeVersionedCount(Number(count)),
}

const counters = (
  { name }: CheckedCollection,
  names: readonly string[],
  { parse, encode }: CountCodec,
  emitFrom: RecordSource['emitFrom'],
): Derivation => ({
  kind: 'counter',
  encode,
  sources: [{ collection: name, side: 'expected', emitFrom }],
  ranges: names.map((counter) => ({
    prefix: [counterName(name, counter)],
    entry: 'counter',
    read: (emit) => (key, value) => {
      const count = parse(value)
      emit(key, count ?? 0)
      return count === undefined ? undefined : 1
    },
  })),
  fault: ({ key, expected, actual }) => ({
    message: `the counter ${describeKey(key)} is ${actual}, but the records give ${expected}`,
    repair: expected === 0 ? deleteAction(key) : putAction(key, encode(expected)),
  }),
})

const countsOf =
  ({ name, counted }: CheckedCollection): RecordSource['emitFrom'] =>
  (record, _, emit) => {
    for (const [index, place] of placesOf(counted, record))
      emit(counterKey(counterName(name, index), place), 1)
  }

const postingCountsOf =
  ({ name, search }: CheckedCollection): RecordSource['emitFrom'] =>
  (record, _, emit) => {
    for (const options of search)
      for (const place of postingKeysOf(options, record))
        emit(counterKey(counterName(name, options.name), place.slice(0, options.listDepth)), 1)
  }
