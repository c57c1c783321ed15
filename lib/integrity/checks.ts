import type * as v from 'valibot'
import type { Sum } from '../integers.ts'
import type { KeyPart, KeyTuple } from '../records/key-codec.ts'
import type { Bytes, WriteTransaction } from '../storage/driver.ts'

/**
 * What a floor of the house knows to be derived from its records, declared so that one pass over the store can prove
 * all of it. The records' own indexes and counters need no declaration besides that of their collection.
 */
export interface IntegrityChecks {
  readonly lookups: readonly Lookup[]
  readonly checks: readonly Check[]
  readonly recounts: readonly Recount[]
  /** Collections whose records follow from others altogether: one that is broken is made again. */
  readonly derived: readonly string[]
}

type Of<R> = { readonly options: { readonly name: string; readonly schema: v.GenericSchema<R> } }

/** A number that is remembered of the records of a collection, for looks at others. */
export interface Lookup {
  readonly collection: string
  /** Of what it is a fact; undefined when the record says nothing of it. */
  about(record: unknown, id: KeyPart): KeyPart | undefined
  of(record: unknown): number
}
/** @param about the id of the record, unless the fact is about something else */
export const lookup = <R>(
  { options }: Of<R>,
  of: (record: R) => number,
  about: (record: R, id: KeyPart) => KeyPart | undefined = (_, id) => id,
): Lookup => ({
  collection: options.name,
  about: (record, id) => about(record as R, id),
  of: (record) => of(record as R),
})

/** The number remembered of what has this id; undefined when there is none. */
export type LookupValue = (fact: Lookup, id: KeyPart) => number | undefined

/** What is wrong about one record; `mend` when it is derived from others and can be put right. */
export interface Fault {
  message: string
  repair?: RepairAction
}
/** Answers false when nothing could be put right after all. */
export type RepairAction = (tx: WriteTransaction) => Promise<boolean>

export const putAction =
  (key: Bytes, value: Bytes): RepairAction =>
  async (tx) => {
    tx.put(key, value)
    return true
  }

export const deleteAction =
  (key: Bytes): RepairAction =>
  async (tx) => {
    tx.delete(key)
    return true
  }

/** Holds each record of a collection against what is known of others. */
export interface Check {
  readonly collection: string
  at(record: unknown, known: LookupValue): Fault[]
}
export const check = <R>({ options }: Of<R>, at: (record: R, known: LookupValue) => Fault[]): Check => ({
  collection: options.name,
  at: (record, known) => at(record as R, known),
})

/** So much for this key. */
export type Amount = readonly [key: KeyTuple, amount: Sum]

export interface AmountSource {
  readonly collection: string
  amounts(record: unknown, known: LookupValue): readonly Amount[]
}
export const amountSource = <R>(
  { options }: Of<R>,
  amounts: (record: R, known: LookupValue) => readonly Amount[],
): AmountSource => ({
  collection: options.name,
  amounts: (record, known) => amounts(record as R, known),
})

/** Numbers that are kept on some records and can be counted again from others. */
export interface Recount {
  /** What is counted, for people: `stars of repository`. */
  readonly name: string
  readonly counted: readonly AmountSource[]
  readonly stored: readonly AmountSource[]
  /** Makes what is kept for the key the amount; answers false where there is no record to keep it. */
  repair(tx: WriteTransaction, key: KeyTuple, amount: Sum): Promise<boolean>
}
