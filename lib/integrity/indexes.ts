import type { Sum } from '../integers.ts'
import { encodeValue } from '../records/codec.ts'
import type { KeyTuple } from '../records/key-codec.ts'
import { counterKey, counterName, orderedKey, uniqueKey } from '../records/layout.ts'
import { decodeVersionedCount, encodeVersionedCount, postingKeysOf } from '../search/index.ts'
import type { Bytes } from '../storage/index.ts'
import type { ComparedKey } from './comparison.ts'
import type { Derivation } from './derivations.ts'
import { deleteAction, describeKey, type Fault, putAction } from './faults.ts'
import { compactedIndex } from './postings.ts'
import { type CheckedCollection, checkedCollections, parseCount } from './records.ts'

/** The indexes and counters of all collections. */
export const storeDerivations = (): Derivation[] =>
  checkedCollections.flatMap((collection) => [
    ...Object.entries(collection.unique).map(([name, placeOf]) =>
      index(collection, 'u', name, onePlace(placeOf)),
    ),
    ...Object.entries(collection.ordered).map(([name, placeOf]) =>
      index(collection, 'o', name, onePlace(placeOf)),
    ),
    ...Object.entries(collection.counted).map(([name, placeOf]) =>
      counters(collection, name, PLAIN_COUNT, onePlace(placeOf)),
    ),
    ...collection.search.flatMap((options) => {
      const places: PlacesOf = (record) => postingKeysOf(options, record)
      const lists: PlacesOf = (record) => places(record).map((place) => place.slice(0, options.listDepth))
      return [
        options.isCompacted
          ? compactedIndex(options, collection.id)
          : index(collection, 'o', options.name, places),
        counters(collection, options.name, VERSIONED_COUNT, lists),
      ]
    }),
  ])

/** Where a record is in an index, or what it is counted by. */
type PlacesOf = (record: unknown) => readonly KeyTuple[]

const onePlace =
  (placeOf: (record: unknown) => KeyTuple | undefined): PlacesOf =>
  (record) => {
    const place = placeOf(record)
    return place === undefined ? [] : [place]
  }

/** An index whose entries hold the key of their record. */
const index = (
  { name: collection, id }: CheckedCollection,
  letter: 'u' | 'o',
  name: string,
  placesOf: PlacesOf,
): Derivation => ({
  kind: 'index',
  sources: [
    {
      collection,
      side: 'expected',
      emitFrom(record, recordKey, emit) {
        for (const place of placesOf(record)) {
          const key =
            letter === 'u'
              ? uniqueKey(collection, name, place)
              : orderedKey(collection, name, place, id(record))
          emit(key, 1, recordKey)
        }
      },
    },
  ],
  ranges: [
    {
      prefix: [collection, letter, name],
      entry: 'index entry',
      read: (emit) => (key, value) => {
        emit(key, 1, value)
        return 1
      },
    },
  ],
  fault: entryFault,
})

const entryFault = ({ key, expectedValues, actualValue }: ComparedKey): Fault => {
  const [expected, another] = expectedValues
  const entry = `the index entry ${describeKey(key)}`
  if (expected === undefined) return { message: `${entry} follows from no record`, repair: deleteAction(key) }
  if (another !== undefined)
    return {
      message: `${entry} is claimed by several records: ${expectedValues.map(describeKey).join(', ')}`,
    }
  const record = describeKey(expected)
  const message =
    actualValue === undefined
      ? `${entry} of the record ${record} is missing`
      : `${entry} must lead to the record ${record}, but leads elsewhere`
  return { message, repair: putAction(key, expected) }
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
  { name: collection }: CheckedCollection,
  name: string,
  { parse, encode }: CountCodec,
  placesOf: PlacesOf,
): Derivation => {
  const counter = counterName(collection, name)
  return {
    kind: 'counter',
    encode,
    sources: [
      {
        collection,
        side: 'expected',
        emitFrom(record, _, emit) {
          for (const place of placesOf(record)) emit(counterKey(counter, place), 1)
        },
      },
    ],
    ranges: [
      {
        prefix: [counter],
        entry: 'counter',
        read: (emit) => (key, value) => {
          const count = parse(value)
          if (count !== undefined) emit(key, count)
          return count === undefined ? undefined : 1
        },
      },
    ],
    fault: ({ key, expected, actual }) => ({
      message: `the counter ${describeKey(key)} is ${actual}, but the records give ${expected}`,
      repair: expected === 0 ? deleteAction(key) : putAction(key, encode(expected)),
    }),
  }
}
