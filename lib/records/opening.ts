import { AllotError } from '../errors.ts'
import type { Entry, ReadTransaction, StorageDriver, WriteTransaction } from '../storage/driver.ts'
import { rangeBelow } from './keys.ts'
import { importing, isEmpty, migrating, schemaVersion } from './mark.ts'
import { type Pass, SCHEMA, type Step, steps } from './migrations.ts'

/** Entries that one transaction of a migration goes through. */
const AT_ONCE = 256

/**
 * Sees to it that an open store has the layout of this program: an empty one is marked with it, an older one migrated.
 * @throws AllotError unavailable for a newer one, and for one that holds a part of an import.
 */
export const prepareStore = async (driver: StorageDriver, atOnce = AT_ONCE): Promise<void> => {
  const found = await driver.read(check)
  if (found === SCHEMA) return
  if (found === undefined) await driver.write(markEmpty)
  while ((await driver.write((tx) => advance(tx, atOnce))) < SCHEMA);
}

/** @returns the version of the layout; undefined when there is no mark of it. */
const check = async (tx: ReadTransaction): Promise<number | undefined> => {
  const begun = await importing.get(tx)
  if (begun !== undefined)
    throw new AllotError(
      'unavailable',
      `this store holds a part of an import that began at ${begun.since} and did not end: begin it again with \`allot import\``,
    )
  const version = await schemaVersion.get(tx)
  refuseNewer(version)
  return version
}

/** @throws AllotError unavailable when a store is not ready to be recounted: it is of an older layout, say. */
export const refuseUnready = async (tx: ReadTransaction): Promise<void> => {
  const version = await check(tx)
  if (version === SCHEMA || (version === undefined && (await isEmpty(tx)))) return
  throw new AllotError(
    'unavailable',
    `the layout of this store is ${version ?? 'not written down'}, and this Allot knows ${SCHEMA}: start it once, or run \`allot verify --repair\`, which brings the store up to date`,
  )
}

/** @throws AllotError unavailable for a layout that this program does not know yet. */
export const refuseNewer = (version: number | undefined): void => {
  if (version === undefined || version <= SCHEMA) return
  throw new AllotError(
    'unavailable',
    `this store was written by a newer Allot (its layout is ${version}, this one knows ${SCHEMA}): start the newer one`,
  )
}

const markEmpty = async (tx: WriteTransaction): Promise<void> => {
  if ((await schemaVersion.get(tx)) === undefined && (await isEmpty(tx))) schemaVersion.set(tx, SCHEMA)
}

/**
 * One bounded piece of the way. What is done and how far it has come are written together, so that a kill costs
 * nothing but the piece, and several processes may go the way at the same time.
 * @returns the version that has been reached
 */
const advance = async (tx: WriteTransaction, atOnce: number): Promise<number> => {
  const version = (await check(tx)) ?? 0
  if (version === SCHEMA) return version
  const step = steps.find(({ from }) => from === version)
  if (step === undefined) throw new AllotError('unavailable', `there is no way from the layout ${version}`)
  const { pass, after } = (await migrating.get(tx)) ?? { pass: 0 }
  const last = await goThrough(tx, step.migrate[pass]!, after, atOnce)
  if (last !== undefined) migrating.set(tx, { pass, after: last })
  else if (pass + 1 < step.migrate.length) migrating.set(tx, { pass: pass + 1 })
  else return arrive(tx, step)
  return version
}

const arrive = (tx: WriteTransaction, { to }: Step): number => {
  migrating.clear(tx)
  schemaVersion.set(tx, to)
  return to
}

/** @returns the last key that was done, in hex; undefined when there are no more. */
const goThrough = async (
  tx: WriteTransaction,
  { over, each }: Pass,
  after: string | undefined,
  atOnce: number,
): Promise<string | undefined> => {
  const { start, end } = rangeBelow(over)
  // No key lies between one and the same with a zero byte after it.
  const from = after === undefined ? start : Buffer.from(`${after}00`, 'hex')
  const entries: Entry[] = []
  for await (const entry of tx.range({ start: from, end, limit: atOnce })) entries.push(entry)
  for (const [key, value] of entries) await each(tx, key, value)
  return entries.length < atOnce ? undefined : Buffer.from(entries.at(-1)![0]).toString('hex')
}
