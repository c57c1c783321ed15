import { decodeKey, encodeKey } from '../records/key-codec.ts'
import { counterKey, counterName, orderedKey, uniqueKey } from '../records/keys.ts'
import { decodeVersionedCount, encodeVersionedCount } from '../search/inverted-index.ts'
import type { AmountSource, Fault, LookupValue, Recount } from './checks.ts'
import type { ComparedKey, Comparison } from './comparison.ts'
import { explainCounter, explainEntry } from './faults.ts'
import { postingSources } from './postings.ts'
import { type CheckedCollection, checkedCollections } from './records.ts'
import { wholeNumber } from './sequences.ts'

/** Something that is kept and follows from records: an index, a counter, or a recount that a floor declares. */
export interface DerivedState {
  /** Indexes and counters are mended first: changes of records rely on them. */
  readonly isOwn: boolean
  explain(difference: ComparedKey): Fault
}

/** How the records of a collection, and what else is stored, are told to the sides of a balance. */
export interface ExpectedSource {
  readonly balance: DerivedState
  expect(comparison: Comparison, record: unknown, key: Uint8Array, known: LookupValue): void
}

/** Where what is kept of a balance lies, when that is not on records. */
export interface ActualSource {
  readonly balance: DerivedState
  readonly kind: 'index' | 'counter'
  /** Whether it is a counter that has a stamp, too. */
  readonly isStamped?: boolean
  /**
   * Tells the sides what is held.
   * @returns how many entries or counters that is, undefined where it is broken
   */
  observe(comparison: Comparison, key: Uint8Array, value: Uint8Array): number | undefined
  /** The members that every key of it begins with. */
  readonly prefix: readonly string[]
}

export interface DerivedStates {
  readonly states: readonly DerivedState[]
  readonly actual: readonly ActualSource[]
  readonly expectedBy: ReadonlyMap<string, readonly ExpectedSource[]>
}

/** Everything in a store that can be recounted. */
export const derivedStates = (recounts: readonly Recount[]): DerivedStates => {
  const kept: ActualSource[] = []
  const balances: DerivedState[] = []
  const toldBy = new Map<string, ExpectedSource[]>(checkedCollections.map(({ name }) => [name, []]))
  for (const collection of checkedCollections) {
    for (const one of [
      ...indexesOf(collection),
      ...countersOf(collection),
      ...stampedCountersOf(collection),
    ]) {
      kept.push(one, ...(one.packs ?? []))
      balances.push(one.balance)
      toldBy.get(collection.name)!.push(one)
    }
  }
  for (const recount of recounts) {
    const balance: DerivedState = { isOwn: false, explain: (one) => explainRecount(recount, one) }
    balances.push(balance)
    for (const claim of recount.counted)
      toldBy.get(claim.collection)!.push(toldOf(balance, claim, 'expected'))
    for (const claim of recount.stored) toldBy.get(claim.collection)!.push(toldOf(balance, claim, 'actual'))
  }
  return { states: balances, actual: kept, expectedBy: toldBy }
}

/** What is kept and what it follows from; some of it may be kept in packs. */
type Own = ActualSource & ExpectedSource & { readonly packs?: readonly ActualSource[] }

const indexesOf = (collection: CheckedCollection): Own[] => {
  const { name } = collection
  const of = (letter: 'u' | 'o', index: string, expect: ExpectedSource['expect']) => ({
    balance: { isOwn: true, explain: (one: ComparedKey) => explainEntry(`${name} by ${index}`, one) },
    kind: 'index' as const,
    prefix: [name, letter, index],
    observe: observeEntry,
    expect,
  })
  const unique = collection.unique.map(({ index, place }) =>
    of('u', index, (comparison, record, key) => {
      const at = place(record)
      if (at !== undefined) comparison.expected(uniqueKey(name, index, at), 1, key)
    }),
  )
  const ordered = collection.ordered.map(({ index, place }) =>
    of('o', index, (comparison, record, key) => {
      const at = place(record)
      if (at !== undefined) comparison.expected(orderedKey(name, index, at, collection.id(record)), 1, key)
    }),
  )
  const spread = collection.spread.map(({ index, places, isPacked }): Own => {
    const entries = of('o', index, (comparison, record, key) => {
      for (const at of places(record))
        comparison.expected(orderedKey(name, index, at, collection.id(record)), 1, key)
    })
    return isPacked ? { ...entries, ...postingSources(name, index) } : entries
  })
  return [...ordered, ...unique, ...spread]
}

const observeEntry: ActualSource['observe'] = (comparison, key, value) => {
  comparison.actual(key, 1, value)
  return 1
}

const observeNumber =
  (numberIn: (value: Uint8Array) => number | undefined): ActualSource['observe'] =>
  (comparison, key, value) => {
    const number = numberIn(value)
    comparison.actual(key, number ?? 0)
    return number === undefined ? undefined : 1
  }

const countersOf = ({ name, counted }: CheckedCollection): Own[] =>
  counted.map(({ index, place }) => {
    const counter = counterName(name, index)
    return {
      balance: { isOwn: true, explain: (one) => explainCounter(counter, one) },
      kind: 'counter',
      prefix: [counter],
      observe: observeNumber(wholeNumber),
      expect: (comparison, record) => {
        const at = place(record)
        if (at !== undefined) comparison.expected(counterKey(counter, at), 1)
      },
    }
  })

const stampedCountersOf = ({ name, spread }: CheckedCollection): Own[] =>
  spread.map(({ index, places, counted }) => {
    const counter = counterName(name, index)
    return {
      balance: {
        isOwn: true,
        explain: (one) => explainCounter(counter, one, (count) => encodeVersionedCount(Number(count))),
      },
      kind: 'counter',
      prefix: [counter],
      isStamped: true,
      observe: observeNumber(decodeVersionedCount),
      expect: (comparison, record) => {
        for (const at of places(record)) comparison.expected(counterKey(counter, at.slice(0, counted)), 1)
      },
    }
  })

const toldOf = (balance: DerivedState, claim: AmountSource, side: 'expected' | 'actual'): ExpectedSource => ({
  balance,
  expect(comparison, record, _, known) {
    for (const [key, amount] of claim.amounts(record, known))
      if (amount !== 0) comparison[side](encodeKey(key), amount)
  },
})

const explainRecount = (recount: Recount, { key, expected, actual }: ComparedKey): Fault => {
  const tuple = decodeKey(key)
  return {
    message: `${recount.name} ${tuple.join(' ')}: ${actual} is kept, and the records give ${expected}`,
    repair: (tx) => recount.repair(tx, tuple, expected),
  }
}
