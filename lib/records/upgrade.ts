import { AllotError } from '../errors.ts'
import type { Bytes, Entry, ReadTransaction, StorageDriver, WriteTransaction } from '../storage/index.ts'
import { encodeKey, rangeBelow } from './key-codec.ts'
import { decodeValue, importing, isEmpty, storedLayout, upgradedFrom } from './layout.ts'

/**
 * Brings a store to the current layout when it is opened. The layout says which keys exist and what their
 * values mean; its number is stored in every store. A store of an older layout is rebuilt: each step changes
 * the records, and all indexes and counters are derived from them again.
 */
export interface UpgradePlan {
  /** Step n leads from layout n to layout n + 1. */
  steps: readonly UpgradeStep[]
  collections: readonly StoredCollection[]
}

interface StoredCollection {
  readonly options: { readonly name: string }
  save(tx: WriteTransaction, record: never): Promise<unknown>
}

/**
 * What becomes of the records of a collection, by its name. The id of a record stays. An upgrade that was
 * killed begins again, so a step leaves a record as it is that it has changed already.
 */
export type UpgradeStep = Readonly<Record<string, (record: object) => object>>

/** Entries that one write of an upgrade changes. */
const BATCH_SIZE = 256

export const newestLayout = ({ steps }: Pick<UpgradePlan, 'steps'>): number => 1 + steps.length

/**
 * Marks an empty store with the newest layout, and rebuilds an older one.
 * @param isAlone whether no other process uses the store, which an upgrade needs
 * @param onProgress called with a message when an upgrade begins
 * @throws AllotError unavailable for an unknown layout, and for a store that holds part of an import
 */
export const upgradeLayout = async (
  driver: StorageDriver,
  plan: UpgradePlan,
  isAlone: boolean,
  onProgress: (message: string) => void = () => undefined,
): Promise<void> => {
  const newest = newestLayout(plan)
  if (await driver.read(isNew)) await driver.write((tx) => markNew(tx, newest))
  const layout = await driver.read(async (tx) => {
    if (!isAlone) await requireCurrentLayout(tx, newest)
    return knownLayout(tx, newest)
  })
  if (layout === newest) return
  onProgress(`upgrading the store from layout ${layout} to layout ${newest}`)
  // First, so that an older version refuses the store also when this process is killed.
  await driver.write(async (tx) => {
    storedLayout.set(tx, newest)
    upgradedFrom.set(tx, layout)
  })
  await rebuild(driver, plan.collections, plan.steps.slice(layout - 1))
  await driver.write(async (tx) => upgradedFrom.clear(tx))
}

const isNew = async (tx: ReadTransaction): Promise<boolean> =>
  (await storedLayout.get(tx)) === undefined && (await importing.get(tx)) === undefined && (await isEmpty(tx))

const markNew = async (tx: WriteTransaction, newest: number): Promise<void> => {
  if (await isNew(tx)) storedLayout.set(tx, newest)
}

/** @returns that before an upgrade which did not finish */
const knownLayout = async (tx: ReadTransaction, newest: number): Promise<number> => {
  const unfinished = await importing.get(tx)
  if (unfinished !== undefined)
    throw new AllotError(
      'unavailable',
      `the store holds part of an import that began at ${unfinished.since} and did not finish: run \`allot import\` again`,
    )
  const layout = await storedLayout.get(tx)
  if (layout === undefined)
    throw new AllotError(
      'unavailable',
      'the store has no layout number: no released version of Allot wrote it',
    )
  requireKnownLayout(layout, newest)
  return (await upgradedFrom.get(tx)) ?? layout
}

/** @throws AllotError unavailable for a layout that this version does not know */
export const requireKnownLayout = (layout: number, newest: number): void => {
  if (layout >= 1 && layout <= newest) return
  throw new AllotError(
    'unavailable',
    `the store has layout ${layout}, but this version of Allot reads layouts 1 to ${newest}: start the newer version that wrote the store; a store written before the first release must be created again`,
  )
}

/** @throws AllotError unavailable for a store that must be upgraded first, or whose layout is unknown */
export const requireCurrentLayout = async (tx: ReadTransaction, newest: number): Promise<void> => {
  if (await isNew(tx)) return
  const layout = await knownLayout(tx, newest)
  if (layout === newest) return
  throw new AllotError(
    'unavailable',
    `the store has layout ${layout} and must be upgraded to layout ${newest} first: stop every process that uses it, and run \`allot verify --repair\``,
  )
}

/** Removes all indexes and counters, and saves each record as if it were new, after the steps. */
const rebuild = async (
  driver: StorageDriver,
  collections: readonly StoredCollection[],
  steps: readonly UpgradeStep[],
): Promise<void> => {
  for (const collection of collections) {
    const { name } = collection.options
    // Everything below the name but the records is derived, also by search indexes. A semicolon is the
    // character after a colon, so the last range is that of all counters `name:…`.
    const [all, records] = [rangeBelow([name]), rangeBelow([name, 'r'])]
    const derived = [
      { start: all.start, end: records.start },
      { start: records.end, end: all.end },
      { start: encodeKey([`${name}:`]), end: encodeKey([`${name};`]) },
    ]
    for (const range of derived) await inBatches(driver, range, async (tx, key) => tx.delete(key))
    await inBatches(driver, records, (tx, key, value) => {
      const record = steps.reduce((one, step) => step[name]?.(one) ?? one, decodeValue<object>(value))
      tx.delete(key)
      return collection.save(tx, record as never)
    })
  }
}

/** Visits each entry of a range once, in writes of a bounded number of entries. */
const inBatches = async (
  driver: StorageDriver,
  { start, end }: { start: Bytes; end: Bytes },
  visit: (tx: WriteTransaction, key: Bytes, value: Bytes) => Promise<unknown>,
): Promise<void> => {
  for (let from: Bytes | undefined = start; from !== undefined; )
    from = await driver.write(async (tx) => {
      const entries: Entry[] = []
      for await (const entry of tx.range({ start: from!, end, limit: BATCH_SIZE })) entries.push(entry)
      for (const [key, value] of entries) await visit(tx, key, value)
      // The next possible key is the same key with a zero byte at its end.
      return entries.length < BATCH_SIZE ? undefined : Buffer.concat([entries.at(-1)![0], Buffer.alloc(1)])
    })
}
