import * as v from 'valibot'
import type { KeyTuple } from '../records/key-codec.ts'
import { decodeValue, recordKey } from '../records/layout.ts'
import { type Job, jobs } from '../records/schema/index.ts'
import { type Bytes, keyText, type ReadTransaction, type WriteTransaction } from '../storage/index.ts'

/** One thing that is wrong. */
export interface Fault {
  readonly message: string
  /**
   * Present when the right state follows from other records.
   * @returns false when there was nothing to repair after all
   */
  readonly repair?: ((tx: WriteTransaction) => Promise<boolean>) | undefined
  /** Whether the repair saves a record, which relies on indexes and counters that are right. */
  readonly changesRecord?: boolean
}

/** The check of a domain for values that its records derive, beyond declared indexes and counters. */
export interface Check {
  readonly collection: string
  run(record: unknown, store: CheckedStore): void | Promise<void>
}

/** The part of a collection that a check needs. */
export interface CollectionOf<R> {
  readonly options: { readonly name: string; readonly schema: v.GenericSchema<R> }
}

/** Checks each record of a collection. */
export const check = <R>(
  { options }: CollectionOf<R>,
  run: (record: R, store: CheckedStore) => void | Promise<void>,
): Check => ({ collection: options.name, run: (record, store) => run(record as R, store) })

/** Numbers that some records hold, and that can be counted again from others. */
export interface Recount {
  /** Name of the count in messages, such as `stars of repository`. */
  readonly name: string
  /** Set when the keys themselves must agree, so that an amount of 0 differs from no amount. */
  readonly matchesKeys?: boolean
  /**
   * Stores the amount that was counted; absent when no record tells which side is right.
   * @returns false when there is no record to store it in
   */
  repair?(tx: WriteTransaction, key: KeyTuple, amount: number): Promise<boolean>
}

type Side = 'expected' | 'actual'

/** Values that are remembered of other records; a further one drops all of them. */
const MAX_REMEMBERED = 20_000

/** The store, for checks of its records. */
export class CheckedStore {
  readonly #tx: ReadTransaction
  readonly #onFault: (fault: Fault) => void
  readonly #remembered = new Map<string, Promise<unknown>>()
  readonly #amounts = new Map<Recount, Map<string, Partial<Record<Side, number>>>>()

  constructor(tx: ReadTransaction, onFault: (fault: Fault) => void) {
    this.#tx = tx
    this.#onFault = onFault
  }

  /** Whether a record has the id, be it valid or not. */
  has({ options }: CollectionOf<unknown>, id: KeyTuple): Promise<boolean> {
    const key = recordKey(options.name, id)
    return this.#remember(`has ${keyText(key)}`, async () => (await this.#tx.get(key)) !== undefined)
  }

  /** @returns undefined for a record that does not exist or is broken */
  load<R>(collection: CollectionOf<R>, id: KeyTuple): Promise<R | undefined> {
    const key = recordKey(collection.options.name, id)
    return this.#remember(keyText(key), async () => {
      const found = await readIfValid(this.#tx, collection, id)
      return found === 'broken' ? undefined : found
    })
  }

  /** Whether a job of the kind is pending: what it will change is not a fault. */
  isPending(kind: Job['kind'], id: number): Promise<boolean> {
    return this.has(jobs, [kind, id])
  }

  /** @param repair when the right state follows from other records */
  report(message: string, repair?: Fault['repair']): void {
    this.#onFault({ message, repair, changesRecord: true })
  }

  /** Adds to what a number must be. */
  expect(recount: Recount, key: KeyTuple, amount: number): void {
    this.#add(recount, key, 'expected', amount)
  }

  /** Adds to what a number is. */
  note(recount: Recount, key: KeyTuple, amount: number): void {
    this.#add(recount, key, 'actual', amount)
  }

  /** Reports what differs, once all records have been checked. */
  compareAmounts(): void {
    for (const [{ name, matchesKeys = false, repair }, amounts] of this.#amounts)
      for (const [text, sides] of amounts) {
        const absent = matchesKeys ? 'missing' : 0
        const { expected = absent, actual = absent } = sides
        if (expected === actual) continue
        const key = JSON.parse(text) as KeyTuple
        this.report(
          `${name} ${key.join(' ')} is ${actual}, but the records give ${expected}`,
          repair && ((tx) => repair(tx, key, Number(expected))),
        )
      }
  }

  #add(recount: Recount, key: KeyTuple, side: Side, amount: number): void {
    if (amount === 0 && !recount.matchesKeys) return
    const amounts = this.#amounts.get(recount) ?? new Map<string, Partial<Record<Side, number>>>()
    this.#amounts.set(recount, amounts)
    const text = JSON.stringify(key)
    const sides = amounts.get(text)
    if (sides === undefined) amounts.set(text, { [side]: amount })
    else sides[side] = (sides[side] ?? 0) + amount
  }

  #remember<T>(text: string, read: () => Promise<T>): Promise<T> {
    if (this.#remembered.size > MAX_REMEMBERED) this.#remembered.clear()
    const found = this.#remembered.get(text) ?? read()
    this.#remembered.set(text, found)
    return found as Promise<T>
  }
}

/** The record, undefined when it does not exist, or 'broken' when it does not fit its schema. */
export const readIfValid = async <R>(
  tx: ReadTransaction,
  { options: { name, schema } }: CollectionOf<R>,
  id: KeyTuple,
): Promise<R | undefined | 'broken'> => {
  const value = await tx.get(recordKey(name, id))
  return value === undefined ? undefined : (validIn(schema, value) ?? 'broken')
}

/** The record that a value holds; undefined when it is broken. */
export const validIn = <R>(schema: v.GenericSchema<R>, value: Bytes): R | undefined => {
  try {
    const content = decodeValue<R>(value)
    return v.is(schema, content) ? content : undefined
  } catch {
    return undefined
  }
}

/**
 * Replaces members of a record that follow from other records.
 * @returns false when the record does not exist or is broken
 */
export const repairMembers = async <R>(
  tx: WriteTransaction,
  collection: CollectionOf<R> & { save(tx: WriteTransaction, record: R): Promise<unknown> },
  id: KeyTuple,
  members: Partial<R>,
): Promise<boolean> => {
  const record = await readIfValid(tx, collection, id)
  if (record === undefined || record === 'broken') return false
  await collection.save(tx, { ...record, ...members })
  return true
}
