import { decodeKey, encodeKey, type KeyTuple } from '../records/key-codec.ts'
import { counterKey, counterName, encodeValue, orderedKey, uniqueKey } from '../records/layout.ts'
import {
  decodeVersionedCount,
  encodeVersionedCount,
  type InvertedIndexOptions,
  postingKeysOf,
  type StoredPostings,
  storedPostings,
} from '../search/index.ts'
import type { Bytes } from '../storage/index.ts'
import {
  type AmountSource,
  deleteAction,
  describeKey,
  type Fault,
  type Find,
  putAction,
  type Recount,
} from './checks.ts'
import type { ComparedKey, Emit } from './comparison.ts'
import { type CheckedCollection, checkedCollections, parseCount } from './scan.ts'

/**
 * State that follows from records: an index, the counters of an index, or a recount that a domain declares.
 */
export interface Derivation {
  readonly kind: 'index' | 'counter' | 'recount'
  readonly sources: readonly RecordSource[]
  readonly ranges: readonly StoredRange[]
  fault(difference: ComparedKey): Fault
  /** The stored form of a counter. */
  encode?(count: number): Bytes
}

/** The contribution of the records of one collection to the expected or the actual side. */
interface RecordSource {
  readonly collection: string
  readonly side: 'expected' | 'actual'
  emitFrom(record: unknown, recordKey: Bytes, emit: Emit, find: Find): void
}

/** The keys of the actual side, unless it is in records. */
interface StoredRange {
  readonly prefix: readonly string[]
  /** Name of an entry in messages. */
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

/**
 * A key without an amount equals one with 0, unless the keys themselves must match: then 1 is added to each
 * amount.
 */
const amountsOf = (
  { matchesKeys = false }: Recount,
  { collection, addTo }: AmountSource,
  side: RecordSource['side'],
): RecordSource => ({
  collection,
  side,
  emitFrom(record, _, emit, find) {
    const addAmount = (key: Parameters<typeof encodeKey>[0], amount: number) => {
      if (matchesKeys) emit(encodeKey(key), amount + 1)
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
  const describe = (amount: number) => {
    if (!matchesKeys) return amount
    return amount === 0 ? 'missing' : amount - 1
  }
  return {
    message: `${name} ${tuple.join(' ')} is ${describe(actual)}, but the records give ${describe(expected)}`,
    repair: repair && ((tx) => repair(tx, tuple, expected)),
  }
}

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

/** The key of a record in an index or a counter. */
type PlacesOf = (record: unknown) => readonly KeyTuple[]

const onePlace =
  (placeOf: (record: unknown) => KeyTuple | undefined): PlacesOf =>
  (record) => {
    const place = placeOf(record)
    return place === undefined ? [] : [place]
  }

/** What the records of a collection imply. */
const expectedOf = (collection: string, emitFrom: RecordSource['emitFrom']): RecordSource[] => [
  { collection, side: 'expected', emitFrom },
]

/** An index whose entries hold the key of their record. */
const index = (
  { name: collection, id }: CheckedCollection,
  letter: 'u' | 'o',
  name: string,
  placesOf: PlacesOf,
): Derivation => ({
  kind: 'index',
  sources: expectedOf(collection, (record, recordKey, emit) => {
    for (const place of placesOf(record)) {
      const key =
        letter === 'u' ? uniqueKey(collection, name, place) : orderedKey(collection, name, place, id(record))
      emit(key, 1, recordKey)
    }
  }),
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
  encode(count: number): Bytes
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
    sources: expectedOf(collection, (record, _, emit) => {
      for (const place of placesOf(record)) emit(counterKey(counter, place), 1)
    }),
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

/**
 * A search index with posting blocks (lib/search/index.ts). The key of a posting ends with the id of its
 * record, so that values need not be compared.
 */
const compactedIndex = (
  options: InvertedIndexOptions<unknown>,
  id: (record: unknown) => KeyTuple,
): Derivation => {
  const { collection, name } = options
  const postings = storedPostings(options)
  return {
    kind: 'index',
    sources: expectedOf(collection, (record, _, emit) => {
      for (const place of postingKeysOf(options, record))
        emit(orderedKey(collection, name, place, id(record)), 1)
    }),
    ranges: postings.ranges,
    fault: (difference) => postingFault(postings, difference),
  }
}

/** Repairs with a loose posting or a tombstone; blocks stay as they are. */
const postingFault = (postings: StoredPostings, { key, expected, actual }: ComparedKey): Fault => {
  const entry = `the index entry ${describeKey(key)}`
  if (actual > expected)
    return {
      message: `${entry} follows from no record`,
      async repair(tx) {
        await postings.remove(tx, key)
        return true
      },
    }
  return {
    message: actual < 0 ? `${entry} is a tombstone, but no block has the posting` : `${entry} is missing`,
    async repair(tx) {
      await postings.add(tx, key)
      return true
    },
  }
}
