import type * as v from 'valibot'
import { decodeKeyIfValid, type KeyPart, type KeyTuple } from '../records/key-codec.ts'
import { type Job, jobs } from '../records/schema/index.ts'
import type { Bytes, WriteTransaction } from '../storage/index.ts'

/**
 * The checks of a domain for values that it derives from its records, beyond declared indexes and counters.
 */
export interface IntegrityChecks {
  readonly checks: readonly Check[]
  readonly recounts: readonly Recount[]
  /**
   * Names of the collections whose records follow from others altogether: a broken one is deleted and made
   * again.
   */
  readonly derivedCollections?: readonly string[]
}

/** @param repair for faults whose right state follows from other records */
export type Report = (message: string, repair?: RepairAction) => void

/** Checks each record of a collection against the lookups of other records. */
interface Check {
  readonly collection: string
  run(record: unknown, find: Find, report: Report): void
}

export const check = <R>(
  { options }: CollectionOf<R>,
  run: (record: R, find: Find, report: Report) => void,
): Check => ({
  collection: options.name,
  run: (record, find, report) => run(record as R, find, report),
})

/** Adds to the amount of a key. */
type Add = (key: KeyTuple, amount: number) => void

export interface AmountSource {
  readonly collection: string
  addTo(record: unknown, add: Add, find: Find): void
}

export const amounts = <R>(
  { options }: CollectionOf<R>,
  addTo: (record: R, add: Add, find: Find) => void,
): AmountSource => ({
  collection: options.name,
  addTo: (record, add, find) => addTo(record as R, add, find),
})

/** Numbers that some records hold (`actual`) and that can be counted again from others (`expected`). */
export interface Recount {
  /** Name of the count in messages, such as `stars of repository`. */
  readonly name: string
  readonly expected: readonly AmountSource[]
  readonly actual: readonly AmountSource[]
  /** Set when the keys themselves must agree, so that an amount of 0 differs from no amount. */
  readonly matchesKeys?: boolean
  /**
   * Stores the expected amount; absent when no record tells which side is right.
   * @returns false when there is no record to store it in
   */
  repair?(tx: WriteTransaction, key: KeyTuple, amount: number): Promise<boolean>
}

/** The part of a collection that a declaration needs. */
interface CollectionOf<R> {
  readonly options: { readonly name: string; readonly schema: v.GenericSchema<R> }
}

/** A number that is remembered of each record of a collection, for the checks of other collections. */
export interface Lookup {
  readonly collection: string
  /** Key of the remembered number; undefined to remember nothing of the record. */
  key(record: unknown, id: KeyPart): KeyPart | undefined
  value(record: unknown): number
}

/** The number that was remembered for the key; undefined when there is no such record. */
export type Find = (lookup: Lookup, key: KeyPart) => number | undefined

const declared: Lookup[] = []

/**
 * Declares a lookup, once, for the whole process: the first pass of each check fills it.
 * @param value 1 unless given, for lookups that only tell whether the record exists
 * @param key the first member of the record's id unless given
 */
export const lookup = <R>(
  { options }: CollectionOf<R>,
  value: (record: R) => number = () => 1,
  key: (record: R, id: KeyPart) => KeyPart | undefined = (_, id) => id,
): Lookup => {
  const made: Lookup = {
    collection: options.name,
    key: (record, id) => key(record as R, id),
    value: (record) => value(record as R),
  }
  declared.push(made)
  return made
}

/**
 * Finds the ids for which a job of the kind is pending: references to what such a job removes are not faults.
 */
export const pendingJob = (kind: Job['kind']): Lookup =>
  lookup(
    jobs,
    () => 1,
    (job) => (job.kind === kind ? job.id : undefined),
  )

/** Values that the first pass has remembered for the lookups. */
export class LookupTable {
  readonly #tables: ReadonlyMap<Lookup, { byId: NumberById; byName: Map<KeyPart, number> }>

  constructor(lookups: Iterable<Lookup> = declared) {
    this.#tables = new Map([...lookups].map((each) => [each, { byId: new NumberById(), byName: new Map() }]))
  }

  readsFrom(collection: string): boolean {
    return [...this.#tables.keys()].some((each) => each.collection === collection)
  }

  remember(collection: string, id: KeyPart, record: unknown): void {
    for (const [each, { byId, byName }] of this.#tables) {
      if (each.collection !== collection) continue
      const key = each.key(record, id)
      if (typeof key === 'number') byId.set(key, each.value(record))
      else if (key !== undefined) byName.set(key, each.value(record))
    }
  }

  readonly find: Find = (wanted, key) => {
    const { byId, byName } = this.#tables.get(wanted)!
    return typeof key === 'number' ? byId.get(key) : byName.get(key)
  }
}

const PAGE_SIZE = 512

/** Takes about eight bytes for each id: most of the ids that a store has given out are in use. */
class NumberById {
  readonly #pages = new Map<number, Float64Array>()

  get(id: number): number | undefined {
    const found = this.#pages.get(Math.floor(id / PAGE_SIZE))?.[id % PAGE_SIZE] ?? Number.NaN
    return Number.isNaN(found) ? undefined : found
  }

  set(id: number, number: number): void {
    const index = Math.floor(id / PAGE_SIZE)
    const page = this.#pages.get(index) ?? new Float64Array(PAGE_SIZE).fill(Number.NaN)
    this.#pages.set(index, page)
    page[id % PAGE_SIZE] = number
  }
}

/** One thing that is wrong. */
export interface Fault {
  message: string
  /** Present when the right state follows from other records. */
  repair?: RepairAction | undefined
}

/** Resolves to false when there was nothing to repair after all. */
export type RepairAction = (tx: WriteTransaction) => Promise<boolean>

export const putAction =
  (key: Bytes, value: Bytes): RepairAction =>
  async (tx) => {
    tx.put(key, value)
    return true
  }

/** Copies the key, which a driver may hand out as a part of a larger buffer. */
export const deleteAction = (key: Bytes): RepairAction => {
  const copy = new Uint8Array(key)
  return async (tx) => {
    tx.delete(copy)
    return true
  }
}

/** A key for people: its parts as JSON, or its bytes when it has none. */
export const describeKey = (key: Bytes): string => {
  const tuple = decodeKeyIfValid(key)
  return tuple === undefined ? `0x${Buffer.from(key).toString('hex')}` : JSON.stringify(tuple)
}
