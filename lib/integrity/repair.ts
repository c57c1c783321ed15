import * as v from 'valibot'
import { AllotError } from '../errors.ts'
import type { Collection } from '../records/collection.ts'
import type { KeyTuple } from '../records/key-codec.ts'
import type { ReadTransaction, StorageDriver, WriteTransaction } from '../storage/index.ts'
import type { Fault, IntegrityChecks, RepairAction } from './checks.ts'
import type { OnCount } from './scan.ts'
import { type OnFault, type Totals, verifyRecords } from './verify.ts'

/** Repairs in one write transaction. */
const BATCH_SIZE = 256
/** Faults that one round remembers; the next round finds the rest again. */
const MAX_REMEMBERED = 100_000
/** A repair may reveal faults in what is derived from it, so the check runs again until it finds none. */
const MAX_ROUNDS = 20

interface RepairOptions {
  onRepaired: (fault: Fault) => void
  /** Called before each round, for a listener to what the round finds. */
  onRound: () => OnFault
  onProgress?: OnCount | undefined
}

/**
 * Repairs what follows from records: indexes, counters and sequences first, since changes of records rely on
 * them; then, in a round that finds those in order, what domains derive. Broken records stay as they are.
 * Nothing else may write.
 * @returns the totals of the last round, which found nothing more to repair
 * @throws AllotError unavailable when faults remain after many rounds
 */
export const repairRecords = async (
  driver: StorageDriver,
  domains: readonly IntegrityChecks[],
  options: RepairOptions,
): Promise<Totals> => {
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const { totals, repairs } = await repairOnce(driver, domains, options)
    if (repairs === 0) return totals
  }
  throw new AllotError(
    'unavailable',
    `faults remain after ${MAX_ROUNDS} rounds of repair: run \`allot verify --repair\` again`,
  )
}

type Repairable = Fault & { repair: RepairAction }

const repairOnce = async (
  driver: StorageDriver,
  domains: readonly IntegrityChecks[],
  { onRepaired, onRound, onProgress }: RepairOptions,
): Promise<{ totals: Totals; repairs: number }> => {
  const listener = onRound()
  let structural: Repairable[] = []
  const recounted: Repairable[] = []
  let repairs = 0
  const repairStructural = async () => {
    const faults = structural
    structural = []
    repairs += await repairAll(driver, faults, onRepaired)
  }
  const onFault: OnFault = (fault, isStructural) => {
    listener(fault, isStructural)
    const list = isStructural ? structural : recounted
    if (isRepairable(fault) && list.length < MAX_REMEMBERED) list.push(fault)
  }
  const afterFault = async () => {
    if (structural.length >= BATCH_SIZE) await repairStructural()
  }
  const totals = await driver.read((tx) => verifyRecords(tx, domains, { onFault, onProgress, afterFault }))
  await repairStructural()
  if (repairs === 0) repairs = await repairAll(driver, recounted, onRepaired)
  return { totals, repairs }
}

const isRepairable = (fault: Fault): fault is Repairable => fault.repair !== undefined

/** @returns the number of faults that were repaired */
const repairAll = async (
  driver: StorageDriver,
  faults: readonly Repairable[],
  onRepaired: (fault: Fault) => void,
): Promise<number> => {
  let repairs = 0
  for (let start = 0; start < faults.length; start += BATCH_SIZE) {
    const batch = faults.slice(start, start + BATCH_SIZE)
    const repaired = await driver.write(async (tx) => {
      const done: Fault[] = []
      for (const fault of batch) if (await fault.repair(tx)) done.push(fault)
      return done
    })
    for (const fault of repaired) onRepaired(fault)
    repairs += repaired.length
  }
  return repairs
}

type Readable<R> = Pick<Collection<R>, 'get'> & { readonly options: { readonly schema: v.GenericSchema<R> } }

/** The record, undefined when it does not exist, or 'broken' when it does not fit its schema. */
export const readIfValid = async <R>(
  tx: ReadTransaction,
  collection: Readable<R>,
  id: KeyTuple,
): Promise<R | undefined | 'broken'> => {
  try {
    const record = await collection.get(tx, id)
    return record === undefined || v.is(collection.options.schema, record) ? record : 'broken'
  } catch (error) {
    if (error instanceof SyntaxError) return 'broken'
    throw error
  }
}

/**
 * Replaces members of a record that follow from other records.
 * @returns false when the record does not exist or is broken
 */
export const repairMembers = async <R>(
  tx: WriteTransaction,
  collection: Readable<R> & Pick<Collection<R>, 'save'>,
  id: KeyTuple,
  members: Partial<R>,
): Promise<boolean> => {
  const record = await readIfValid(tx, collection, id)
  if (record === undefined || record === 'broken') return false
  await collection.save(tx, { ...record, ...members })
  return true
}
