import { decodeKey, encodeKey } from '../keys.ts'
import { counterKey, counterName, orderedKey, uniqueKey } from '../layout.ts'
import { stampedNumber, stampedValue } from '../spread.ts'
import { type Declared, declared } from './collections.ts'
import type { Claim, Fault, Known, Recount } from './declare.ts'
import { explainCounter, explainEntry } from './explain.ts'
import { packedKept } from './packs.ts'
import { wholeNumber } from './sequences.ts'
import type { Compared, Sides } from './sides.ts'

/** Something that is kept and follows from records: an index, a counter, or a recount that a floor declares. */
export interface Balance {
  /** Indexes and counters are mended first: changes of records rely on them. */
  readonly isOwn: boolean
  explain(difference: Compared): Fault
}

/** How the records of a collection, and what else is stored, are told to the sides of a balance. */
export interface Told {
  readonly balance: Balance
  tell(sides: Sides, record: unknown, key: Uint8Array, known: Known): void
}

/** Where what is kept of a balance lies, when that is not on records. */
export interface Kept {
  readonly balance: Balance
  readonly kind: 'index' | 'counter'
  /** Whether it is a counter that has a stamp, too. */
  readonly isStamped?: boolean
  /**
   * Tells the sides what is held.
   * @returns how many entries or counters that is, undefined where it is broken
   */
  hold(sides: Sides, key: Uint8Array, value: Uint8Array): number | undefined
  /** The members that every key of it begins with. */
  readonly prefix: readonly string[]
}

export interface Books {
  readonly balances: readonly Balance[]
  readonly kept: readonly Kept[]
  readonly toldBy: ReadonlyMap<string, readonly Told[]>
}

/** Everything in a store that can be recounted. */
export const openBooks = (recounts: readonly Recount[]): Books => {
  const kept: Kept[] = []
  const balances: Balance[] = []
  const toldBy = new Map<string, Told[]>(declared.map(({ name }) => [name, []]))
  for (const collection of declared) {
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
    const balance: Balance = { isOwn: false, explain: (one) => explainRecount(recount, one) }
    balances.push(balance)
    for (const claim of recount.counted) toldBy.get(claim.collection)!.push(toldOf(balance, claim, 'due'))
    for (const claim of recount.kept) toldBy.get(claim.collection)!.push(toldOf(balance, claim, 'held'))
  }
  return { balances, kept, toldBy }
}

/** What is kept and what it follows from; some of it may be kept in packs. */
type Own = Kept & Told & { readonly packs?: readonly Kept[] }

const indexesOf = (collection: Declared): Own[] => {
  const { name } = collection
  const of = (letter: 'u' | 'o', index: string, tell: Told['tell']) => ({
    balance: { isOwn: true, explain: (one: Compared) => explainEntry(`${name} by ${index}`, one) },
    kind: 'index' as const,
    prefix: [name, letter, index],
    hold: holdEntry,
    tell,
  })
  const unique = collection.unique.map(({ index, place }) =>
    of('u', index, (sides, record, key) => {
      const at = place(record)
      if (at !== undefined) sides.due(uniqueKey(name, index, at), 1, key)
    }),
  )
  const ordered = collection.ordered.map(({ index, place }) =>
    of('o', index, (sides, record, key) => {
      const at = place(record)
      if (at !== undefined) sides.due(orderedKey(name, index, at, collection.id(record)), 1, key)
    }),
  )
  const spread = collection.spread.map(({ index, places, isPacked }): Own => {
    const entries = of('o', index, (sides, record, key) => {
      for (const at of places(record)) sides.due(orderedKey(name, index, at, collection.id(record)), 1, key)
    })
    return isPacked ? { ...entries, ...packedKept(name, index) } : entries
  })
  return [...ordered, ...unique, ...spread]
}

const holdEntry: Kept['hold'] = (sides, key, value) => {
  sides.held(key, 1, value)
  return 1
}

const holdNumber =
  (numberIn: (value: Uint8Array) => number | undefined): Kept['hold'] =>
  (sides, key, value) => {
    const number = numberIn(value)
    sides.held(key, number ?? 0)
    return number === undefined ? undefined : 1
  }

const countersOf = ({ name, counted }: Declared): Own[] =>
  counted.map(({ index, place }) => {
    const counter = counterName(name, index)
    return {
      balance: { isOwn: true, explain: (one) => explainCounter(counter, one) },
      kind: 'counter',
      prefix: [counter],
      hold: holdNumber(wholeNumber),
      tell: (sides, record) => {
        const at = place(record)
        if (at !== undefined) sides.due(counterKey(counter, at), 1)
      },
    }
  })

const stampedCountersOf = ({ name, spread }: Declared): Own[] =>
  spread.map(({ index, places, counted }) => {
    const counter = counterName(name, index)
    return {
      balance: {
        isOwn: true,
        explain: (one) => explainCounter(counter, one, (count) => stampedValue(Number(count))),
      },
      kind: 'counter',
      prefix: [counter],
      isStamped: true,
      hold: holdNumber(stampedNumber),
      tell: (sides, record) => {
        for (const at of places(record)) sides.due(counterKey(counter, at.slice(0, counted)), 1)
      },
    }
  })

const toldOf = (balance: Balance, claim: Claim, side: 'due' | 'held'): Told => ({
  balance,
  tell(sides, record, _, known) {
    for (const [key, amount] of claim.amounts(record, known))
      if (amount !== 0) sides[side](encodeKey(key), amount)
  },
})

const explainRecount = (recount: Recount, { key, due, held }: Compared): Fault => {
  const tuple = decodeKey(key)
  return {
    says: `${recount.name} ${tuple.join(' ')}: ${held} is kept, and the records give ${due}`,
    mend: (tx) => recount.mend(tx, tuple, due),
  }
}
