import { AllotError } from '../errors.ts'
import type { ReadTransaction, StorageDriver, WriteTransaction } from '../storage/driver.ts'
import { importing, isEmpty, migrating, type Progress, schemaVersion } from './mark.ts'
import { SCHEMA, type Step, steps } from './migrations.ts'
import { derivingPasses, goThrough, type Pass } from './passes.ts'

export interface Way {
  steps: readonly Step[]
  /** Entries that one transaction goes through. */
  atOnce: number
}
const WAY: Way = { steps, atOnce: 256 }

/**
 * Sees to it that an open store has the layout of this program: an empty one is marked with it, an older one migrated.
 * @param told of a migration that begins, or goes on
 * @throws AllotError unavailable for a newer layout, and for a store that holds a part of an import.
 */
export const prepareStore = async (
  driver: StorageDriver,
  told: (words: string) => void = () => undefined,
  way = WAY,
): Promise<void> => {
  const newest = newestOf(way)
  const { version, isDone } = await driver.read((tx) => stateOf(tx, newest))
  if (isDone) return
  if (version === undefined && (await driver.write((tx) => markEmpty(tx, newest)))) return
  told(`the store has the layout ${version ?? 0} and is brought to ${newest}: this happens once`)
  while (!(await driver.write((tx) => advance(tx, way))));
}

const newestOf = ({ steps }: Way): number => steps.at(-1)!.to

interface State {
  /** Undefined when there is no mark of it. */
  version: number | undefined
  progress: Progress | undefined
  isDone: boolean
}

const stateOf = async (tx: ReadTransaction, newest: number): Promise<State> => {
  const begun = await importing.get(tx)
  if (begun !== undefined)
    throw new AllotError(
      'unavailable',
      `this store holds a part of an import that began at ${begun.since} and did not end: begin it again with \`allot import\``,
    )
  const version = await schemaVersion.get(tx)
  refuseNewer(version, newest)
  const progress = await migrating.get(tx)
  return { version, progress, isDone: version === newest && progress === undefined }
}

/** @throws AllotError unavailable when a store is not ready to be recounted: it is of an older layout, say. */
export const refuseUnready = async (tx: ReadTransaction): Promise<void> => {
  const { version, isDone } = await stateOf(tx, SCHEMA)
  if (isDone || (version === undefined && (await isEmpty(tx)))) return
  throw new AllotError(
    'unavailable',
    `the layout of this store is ${version ?? 'not written down'}, and this Allot knows ${SCHEMA}: start it once, or run \`allot verify --repair\`, which brings the store up to date`,
  )
}

/** @throws AllotError unavailable for a layout that this program does not know yet. */
export const refuseNewer = (version: number | undefined, newest = SCHEMA): void => {
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

const BEGINNING: Progress = { pass: 0, isDeriving: false, derive: [] }

/**
 * One bounded piece of the way. What is done and how far it has come are written together, so that a kill costs nothing
 * but the piece, and several processes may go the way at the same time.
 * @returns whether it has come to its end
 */
const advance = async (tx: WriteTransaction, way: Way): Promise<boolean> => {
  const { version = 0, progress = BEGINNING, isDone } = await stateOf(tx, newestOf(way))
  if (isDone) return true
  if (version < newestOf(way)) return climb(tx, version, progress, way)
  const at = progress.isDeriving ? progress : { ...BEGINNING, isDeriving: true, derive: progress.derive }
  const { progress: next, isDone: isDerived } = await follow(tx, derivingPasses(at.derive), at, way.atOnce)
  if (isDerived) migrating.clear(tx)
  else migrating.set(tx, next)
  return isDerived
}

/** A step that comes after records have been derived changes them again, so all of them are derived again too. */
const climb = async (
  tx: WriteTransaction,
  version: number,
  progress: Progress,
  { steps, atOnce }: Way,
): Promise<false> => {
  const step = steps.find(({ from }) => from === version)
  if (step === undefined) throw new AllotError('unavailable', `there is no way from the layout ${version}`)
  const at = progress.isDeriving ? { ...BEGINNING, derive: progress.derive } : progress
  const { progress: next, isDone } = await follow(tx, step.migrate, at, atOnce)
  if (isDone) {
    schemaVersion.set(tx, step.to)
    migrating.set(tx, { ...BEGINNING, derive: [...new Set([...next.derive, ...(step.derive ?? [])])] })
  } else migrating.set(tx, next)
  return false
}

/** @returns how far the passes have come, and whether all of them are done */
const follow = async (
  tx: WriteTransaction,
  passes: readonly Pass[],
  { pass, after, ...rest }: Progress,
  atOnce: number,
): Promise<{ progress: Progress; isDone: boolean }> => {
  const current = passes[pass]
  if (current === undefined) return { progress: { ...rest, pass }, isDone: true }
  const { last, derive: more } = await goThrough(tx, current, after, atOnce)
  const derive = [...new Set([...rest.derive, ...more])]
  if (last !== undefined) return { progress: { ...rest, derive, pass, after: last }, isDone: false }
  return { progress: { ...rest, derive, pass: pass + 1 }, isDone: pass + 1 >= passes.length }
}
