import { decodeKey, encodeKey } from '../keys.ts'
import { counterKey, counterName, orderedKey, uniqueKey } from '../layout.ts'
import { stampedNumber, stampedValue } from '../spread.ts'
import { encodeValue } from '../values.ts'
import { type Declared, declared, keyWords } from './collections.ts'
import { type Claim, deleting, type Fault, type Known, putting, type Recount } from './declare.ts'
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
  /** Of a counter: the number in what is kept, if there is one. */
  readonly numberIn?: (value: Uint8Array) => number | undefined
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
      kept.push(one)
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

const indexesOf = (collection: Declared): (Kept & Told)[] => {
  const { name } = collection
  const of = (letter: 'u' | 'o', index: string, tell: Told['tell']) => ({
    balance: { isOwn: true, explain: (one: Compared) => explainEntry(`${name} by ${index}`, one) },
    kind: 'index' as const,
    prefix: [name, letter, index],
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
  const spread = collection.spread.map(({ index, places }) =>
    of('o', index, (sides, record, key) => {
      for (const at of places(record)) sides.due(orderedKey(name, index, at, collection.id(record)), 1, key)
    }),
  )
  return [...ordered, ...unique, ...spread]
}

const countersOf = ({ name, counted }: Declared): (Kept & Told)[] =>
  counted.map(({ index, place }) => {
    const counter = counterName(name, index)
    return {
      balance: { isOwn: true, explain: (one) => explainCounter(counter, one) },
      kind: 'counter',
      prefix: [counter],
      tell: (sides, record) => {
        const at = place(record)
        if (at !== undefined) sides.due(counterKey(counter, at), 1)
      },
    }
  })

const stampedCountersOf = ({ name, spread }: Declared): (Kept & Told)[] =>
  spread.map(({ index, places, counted }) => {
    const counter = counterName(name, index)
    return {
      balance: { isOwn: true, explain: (one) => explainCounter(counter, one, stampedValue) },
      kind: 'counter',
      prefix: [counter],
      numberIn: stampedNumber,
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

const explainEntry = (index: string, { key, dueValues, heldValue }: Compared): Fault => {
  const [due, another] = dueValues
  const entry = `the index of ${index}`
  if (another !== undefined)
    return {
      says: `${entry} can hold only one of ${dueValues.map(keyWords).join(' and ')}: both claim ${keyWords(key)}`,
    }
  if (due === undefined)
    return { says: `${entry} has an entry too many: ${keyWords(key)}`, mend: deleting(key) }
  const mend = putting(key, due)
  if (heldValue === undefined) return { says: `${entry} lacks ${keyWords(key)} of ${keyWords(due)}`, mend }
  return { says: `${entry} leads from ${keyWords(key)} to another record than ${keyWords(due)}`, mend }
}

const explainCounter = (
  counter: string,
  { key, due, held }: Compared,
  encode: (count: number) => Uint8Array = encodeValue,
): Fault => ({
  says: `the counter ${counter} of ${keyWords(key)} is ${held}, and there are ${due}`,
  mend: due === 0 ? deleting(key) : putting(key, encode(due)),
})

const explainRecount = (recount: Recount, { key, due, held }: Compared): Fault => {
  const tuple = decodeKey(key)
  return {
    says: `${recount.name} ${tuple.join(' ')}: ${held} is kept, and the records give ${due}`,
    mend: (tx) => recount.mend(tx, tuple, due),
  }
}
