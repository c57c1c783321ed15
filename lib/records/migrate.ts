import { AllotError } from '../errors.ts'
import type { ReadTransaction, StorageDriver, WriteTransaction } from '../storage/driver.ts'
import { type BatchScan, derivationScans, scanBatch } from './batch-scan.ts'
import { importing, isEmpty, type MigrationProgress, migrating, schemaVersion } from './metadata.ts'
import { LAYOUT_VERSION, type MigrationStep, steps } from './migrations.ts'

export interface MigrationPlan {
  steps: readonly MigrationStep[]
  /** Entries that one transaction goes through. */
  batchSize: number
}
const DEFAULT_PLAN: MigrationPlan = { steps, batchSize: 256 }

/**
 * Sees to it that an open store has the layout of this program: an empty one is marked with it, an older one migrated.
 * @param onProgress of a migration that begins, or goes on
 * @throws AllotError unavailable for a newer layout, and for a store that holds a part of an import.
 */
export const migrateStore = async (
  driver: StorageDriver,
  onProgress: (words: string) => void = () => undefined,
  plan = DEFAULT_PLAN,
): Promise<void> => {
  const newest = newestOf(plan)
  const { version, isDone } = await driver.read((tx) => stateOf(tx, newest))
  if (isDone) return
  if (version === undefined && (await driver.write((tx) => markEmpty(tx, newest)))) return
  onProgress(`the store has the layout ${version ?? 0} and is brought to ${newest}: this happens once`)
  while (!(await driver.write((tx) => advance(tx, plan))));
}

const newestOf = ({ steps }: MigrationPlan): number => steps.at(-1)!.to

interface LayoutState {
  /** Undefined when there is no mark of it. */
  version: number | undefined
  progress: MigrationProgress | undefined
  isDone: boolean
}

const stateOf = async (tx: ReadTransaction, newest: number): Promise<LayoutState> => {
  const begun = await importing.get(tx)
  if (begun !== undefined)
    throw new AllotError(
      'unavailable',
      `this store holds a part of an import that began at ${begun.since} and did not end: begin it again with \`allot import\``,
    )
  const version = await schemaVersion.get(tx)
  requireKnownLayout(version, newest)
  const progress = await migrating.get(tx)
  return { version, progress, isDone: version === newest && progress === undefined }
}

/** @throws AllotError unavailable when a store is not ready to be recounted: it is of an older layout, say. */
export const requireCurrentLayout = async (tx: ReadTransaction): Promise<void> => {
  const { version, isDone } = await stateOf(tx, LAYOUT_VERSION)
  if (isDone || (version === undefined && (await isEmpty(tx)))) return
  throw new AllotError(
    'unavailable',
    `the layout of this store is ${version ?? 'not written down'}, and this Allot knows ${LAYOUT_VERSION}: start it once, or run \`allot verify --repair\`, which brings the store up to date`,
  )
}

/** @throws AllotError unavailable for a layout that this program does not know yet. */
export const requireKnownLayout = (version: number | undefined, newest = LAYOUT_VERSION): void => {
  if (version === undefined || version <= newest) return
  throw new AllotError(
    'unavailable',
    `this store was written by a newer Allot (its layout is ${version}, this one knows ${newest}): start the newer one`,
  )
}

const markEmpty = async (tx: WriteTransaction, newest: number): Promise<boolean> => {
  if ((await schemaVersion.get(tx)) !== undefined || !(await isEmpty(tx))) return false
  schemaVersion.set(tx, newest)
  return true
}

const BEGINNING: MigrationProgress = { pass: 0, isDeriving: false, derive: [] }

/**
 * One bounded piece of the way. What is done and how far it has come are written together, so that a kill costs nothing
 * but the piece, and several processes may go the way at the same time.
 * @returns whether it has come to its end
 */
const advance = async (tx: WriteTransaction, way: MigrationPlan): Promise<boolean> => {
  const { version = 0, progress = BEGINNING, isDone } = await stateOf(tx, newestOf(way))
  if (isDone) return true
  if (version < newestOf(way)) return runMigrationStep(tx, version, progress, way)
  const at = progress.isDeriving ? progress : { ...BEGINNING, isDeriving: true, derive: progress.derive }
  const { progress: next, isDone: isDerived } = await runScans(
    tx,
    derivationScans(at.derive),
    at,
    way.batchSize,
  )
  if (isDerived) migrating.clear(tx)
  else migrating.set(tx, next)
  return isDerived
}

/** A step that comes after records have been derived changes them again, so all of them are derived again too. */
const runMigrationStep = async (
  tx: WriteTransaction,
  version: number,
  progress: MigrationProgress,
  { steps, batchSize }: MigrationPlan,
): Promise<false> => {
  const step = steps.find(({ from }) => from === version)
  if (step === undefined) throw new AllotError('unavailable', `there is no way from the layout ${version}`)
  const at = progress.isDeriving ? { ...BEGINNING, derive: progress.derive } : progress
  const { progress: next, isDone } = await runScans(tx, step.migrate, at, batchSize)
  if (isDone) {
    schemaVersion.set(tx, step.to)
    migrating.set(tx, { ...BEGINNING, derive: [...new Set([...next.derive, ...(step.derive ?? [])])] })
  } else migrating.set(tx, next)
  return false
}

/** @returns how far the passes have come, and whether all of them are done */
const runScans = async (
  tx: WriteTransaction,
  passes: readonly BatchScan[],
  { pass, after, ...rest }: MigrationProgress,
  atOnce: number,
): Promise<{ progress: MigrationProgress; isDone: boolean }> => {
  const current = passes[pass]
  if (current === undefined) return { progress: { ...rest, pass }, isDone: true }
  const { last, derive: more } = await scanBatch(tx, current, after, atOnce)
  const derive = [...new Set([...rest.derive, ...more])]
  if (last !== undefined) return { progress: { ...rest, derive, pass, after: last }, isDone: false }
  return { progress: { ...rest, derive, pass: pass + 1 }, isDone: pass + 1 >= passes.length }
}
