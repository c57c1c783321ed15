import { AllotError } from '../errors.ts'
import type { Bytes, Entry, ReadTransaction, StorageDriver, WriteTransaction } from '../storage/index.ts'
import { encodeKey, type KeyTuple, rangeBelow } from './key-codec.ts'
import { decodeValue, importing, isEmpty, storedLayout, type UpgradeProgress, upgrading } from './layout.ts'

/**
 * Brings a store to the current layout when it is opened. The layout says which keys exist and what their
 * values mean; its number is stored in every store. Layout 1 is the first; step 1 leads from it to layout 2,
 * and so on.
 *
 * An upgrade runs in transactions of a bounded number of entries. Each writes, together with its changes, how
 * far the upgrade has come, so a process that was killed continues where it stopped, and several processes
 * may upgrade one store at the same time. After the last step, the indexes and counters of the changed
 * collections are derived from the records.
 */
export interface UpgradePlan {
  /** Step n leads from layout n to layout n + 1. */
  steps: readonly UpgradeStep[]
  collections: readonly StoredCollection[]
  /** Entries per transaction. */
  batchSize: number
}

interface StoredCollection {
  readonly options: { readonly name: string }
  save(tx: WriteTransaction, record: never): Promise<unknown>
}

export interface UpgradeStep {
  /** Changes the stored records. */
  scans: readonly BatchScan[]
  /** Names of the collections whose indexes or counters must be derived again. */
  derive?: readonly string[]
}

/** Visits each entry of a range exactly once, in batches, including when the process is killed in between. */
interface BatchScan {
  /** All keys that begin with a tuple, or those between two keys. */
  range: KeyTuple | KeyBounds
  visit(tx: WriteTransaction, key: Bytes, value: Bytes): unknown
}

interface KeyBounds {
  start: Bytes
  end: Bytes
}

export const newestLayout = ({ steps }: Pick<UpgradePlan, 'steps'>): number => 1 + steps.length

/**
 * Marks an empty store with the newest layout, and upgrades an older one.
 * @param onProgress called with a message when an upgrade begins or continues
 * @throws AllotError unavailable for an unknown layout, and for a store that holds part of an import
 */
export const upgradeLayout = async (
  driver: StorageDriver,
  plan: UpgradePlan,
  onProgress: (message: string) => void = () => undefined,
): Promise<void> => {
  const newest = newestLayout(plan)
  if (await driver.read(isNew)) await driver.write((tx) => markNew(tx, newest))
  const { layout, isCurrent } = await driver.read((tx) => layoutState(tx, newest))
  if (isCurrent) return
  onProgress(`upgrading the store from layout ${layout} to layout ${newest}`)
  while (!(await driver.write((tx) => advance(tx, plan))));
}

const isNew = async (tx: ReadTransaction): Promise<boolean> =>
  (await storedLayout.get(tx)) === undefined && (await importing.get(tx)) === undefined && (await isEmpty(tx))

const markNew = async (tx: WriteTransaction, newest: number): Promise<void> => {
  if (await isNew(tx)) storedLayout.set(tx, newest)
}

interface LayoutState {
  layout: number
  progress: UpgradeProgress | undefined
  isCurrent: boolean
}

const layoutState = async (tx: ReadTransaction, newest: number): Promise<LayoutState> => {
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
  const progress = await upgrading.get(tx)
  return { layout, progress, isCurrent: layout === newest && progress === undefined }
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
  const { layout, isCurrent } = await layoutState(tx, newest)
  if (isCurrent) return
  throw new AllotError(
    'unavailable',
    `the store has layout ${layout} and must be upgraded to layout ${newest} first: start the server once, or run \`allot verify --repair\``,
  )
}

/**
 * Runs one batch.
 * @returns whether the upgrade is complete
 */
const advance = async (tx: WriteTransaction, plan: UpgradePlan): Promise<boolean> => {
  const { layout, progress, isCurrent } = await layoutState(tx, newestLayout(plan))
  if (isCurrent) return true
  const step = plan.steps[layout - 1]
  const derive = progress?.derive ?? []
  const scans = step?.scans ?? derivationScans(plan, derive)
  // A newer version may add steps while the last one was deriving: it runs them, and derives everything again
  // after them.
  const isDeriving = step === undefined
  const position = progress?.isDeriving === isDeriving ? progress : { scan: 0 }
  const next = await runBatch(tx, scans, position, plan.batchSize)
  if (next !== undefined) upgrading.set(tx, { ...next, isDeriving, derive })
  else if (isDeriving) upgrading.clear(tx)
  else {
    storedLayout.set(tx, layout + 1)
    upgrading.set(tx, {
      scan: 0,
      isDeriving: true,
      derive: [...new Set([...derive, ...(step.derive ?? [])])],
    })
  }
  return next === undefined && isDeriving
}

type Position = Pick<UpgradeProgress, 'scan' | 'after'>

/**
 * Visits the next entries of a scan.
 * @returns where to continue; undefined after the last scan
 */
const runBatch = async (
  tx: WriteTransaction,
  scans: readonly BatchScan[],
  { scan, after }: Position,
  batchSize: number,
): Promise<Position | undefined> => {
  const current = scans[scan]
  if (current === undefined) return undefined
  const { range, visit } = current
  const { start, end } = 'start' in range ? range : rangeBelow(range)
  // The next possible key is the same key with a zero byte at its end.
  const from = after === undefined ? start : Buffer.from(`${after}00`, 'hex')
  const entries: Entry[] = []
  for await (const entry of tx.range({ start: from, end, limit: batchSize })) entries.push(entry)
  for (const [key, value] of entries) await visit(tx, key, value)
  if (entries.length === batchSize) return { scan, after: Buffer.from(entries.at(-1)![0]).toString('hex') }
  return scan + 1 < scans.length ? { scan: scan + 1 } : undefined
}

/** Removes all indexes and counters of the collections, and saves each record as if it were new. */
const derivationScans = ({ collections }: UpgradePlan, names: readonly string[]): BatchScan[] =>
  collections
    .filter(({ options }) => names.includes(options.name))
    .flatMap((collection) => {
      const { name } = collection.options
      // A semicolon is the character after a colon, so these are the keys of all counters `name:…`.
      const counters = { start: encodeKey([`${name}:`]), end: encodeKey([`${name};`]) }
      // Everything below the name but the records is derived, also by search indexes.
      const [all, records] = [rangeBelow([name]), rangeBelow([name, 'r'])]
      const derived = [
        { start: all.start, end: records.start },
        { start: records.end, end: all.end },
        counters,
      ]
      return [
        ...derived.map((range): BatchScan => ({ range, visit: (tx, key) => tx.delete(key) })),
        {
          range: [name, 'r'],
          visit(tx, key, value) {
            tx.delete(key)
            return collection.save(tx, decodeValue<never>(value))
          },
        },
      ]
    })
