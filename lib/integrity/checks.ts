import type { Sum } from '../integers.ts'
import type { KeyTuple } from '../records/key-codec.ts'
import type { WriteTransaction } from '../storage/index.ts'
import type { RepairAction } from './faults.ts'
import type { CollectionOf, Find, Lookup } from './lookups.ts'

/** What a domain derives from its records, beyond the indexes and counters that its collections declare. */
export interface IntegrityChecks {
  readonly lookups: readonly Lookup[]
  readonly checks: readonly Check[]
  readonly recounts: readonly Recount[]
  /** Names of the collections whose records follow from others altogether: a broken one is deleted and made again. */
  readonly derivedCollections?: readonly string[]
}

/** @param repair for faults whose right state follows from other records */
export type Report = (message: string, repair?: RepairAction) => void

/** Checks each record of a collection against what is remembered of others. */
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
type Add = (key: KeyTuple, amount: Sum) => void

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
  /** What is counted, for messages: `stars of repository`. */
  readonly name: string
  readonly expected: readonly AmountSource[]
  readonly actual: readonly AmountSource[]
  /** Set when the keys themselves must agree, so that an amount of 0 differs from no amount. */
  readonly matchesKeys?: boolean
  /**
   * Stores the expected amount; absent when no record tells which side is right.
   * @returns false when there is no record to store it in
   */
  repair?(tx: WriteTransaction, key: KeyTuple, amount: Sum): Promise<boolean>
}
