import type * as v from 'valibot'
import type { Sum } from '../../integers.ts'
import type { Bytes, WriteTransaction } from '../../storage/driver.ts'
import type { KeyPart, KeyTuple } from '../keys.ts'

/**
 * What a floor of the house knows to be derived from its records, declared so that one pass over the store can prove
 * all of it. The records' own indexes and counters need no declaration besides that of their collection.
 */
export interface Proof {
  readonly facts: readonly Fact[]
  readonly looks: readonly Look[]
  readonly recounts: readonly Recount[]
  /** Collections whose records follow from others altogether: one that is broken is made again. */
  readonly derived: readonly string[]
}

type Of<R> = { readonly options: { readonly name: string; readonly schema: v.GenericSchema<R> } }

/** A number that is remembered of the records of a collection, for looks at others. */
export interface Fact {
  readonly collection: string
  /** Of what it is a fact; undefined when the record says nothing of it. */
  about(record: unknown, id: KeyPart): KeyPart | undefined
  of(record: unknown): number
}
/** @param about the id of the record, unless the fact is about something else */
export const fact = <R>(
  { options }: Of<R>,
  of: (record: R) => number,
  about: (record: R, id: KeyPart) => KeyPart | undefined = (_, id) => id,
): Fact => ({
  collection: options.name,
  about: (record, id) => about(record as R, id),
  of: (record) => of(record as R),
})

/** The number remembered of what has this id; undefined when there is none. */
export type Known = (fact: Fact, id: KeyPart) => number | undefined

/** What is wrong about one record; `mend` when it is derived from others and can be put right. */
export interface Fault {
  says: string
  mend?: Mend
}
/** Answers false when nothing could be put right after all. */
export type Mend = (tx: WriteTransaction) => Promise<boolean>

export const putting =
  (key: Bytes, value: Bytes): Mend =>
  async (tx) => {
    tx.put(key, value)
    return true
  }

export const deleting =
  (key: Bytes): Mend =>
  async (tx) => {
    tx.delete(key)
    return true
  }

/** Holds each record of a collection against what is known of others. */
export interface Look {
  readonly collection: string
  at(record: unknown, known: Known): Fault[]
}
export const look = <R>({ options }: Of<R>, at: (record: R, known: Known) => Fault[]): Look => ({
  collection: options.name,
  at: (record, known) => at(record as R, known),
})

/** So much for this key. */
export type Amount = readonly [key: KeyTuple, amount: Sum]

export interface Claim {
  readonly collection: string
  amounts(record: unknown, known: Known): readonly Amount[]
}
export const claim = <R>(
  { options }: Of<R>,
  amounts: (record: R, known: Known) => readonly Amount[],
): Claim => ({
  collection: options.name,
  amounts: (record, known) => amounts(record as R, known),
})

/** Numbers that are kept on some records and can be counted again from others. */
export interface Recount {
  /** What is counted, for people: `stars of repository`. */
  readonly name: string
  readonly counted: readonly Claim[]
  readonly kept: readonly Claim[]
  /** Makes what is kept for the key the amount; answers false where there is no record to keep it. */
  mend(tx: WriteTransaction, key: KeyTuple, amount: Sum): Promise<boolean>
}

/** The numbers that a sequence has given to the records of a collection. */
export interface Numbered {
  readonly sequence: string
  readonly collection: string
  of(record: unknown): readonly number[]
}
export const numbers = <R>(
  sequence: string,
  { options }: Of<R>,
  of: (record: R) => readonly number[],
): Numbered => ({ sequence, collection: options.name, of: (record) => of(record as R) })
