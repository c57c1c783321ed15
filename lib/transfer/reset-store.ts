import { AllotError } from '../errors.ts'
import { contents, importing, isEmpty, schemaVersion } from '../records/metadata.ts'
import { requireKnownLayout } from '../records/migrate.ts'
import { files, repositories } from '../records/schema/index.ts'
import type { WriteTransaction } from '../storage/index.ts'
import type { TransferParts } from './export.ts'

/** Entries that are removed in one transaction. */
const BATCH_SIZE = 500

/**
 * Marks an empty store as one that an import goes into. What an import that did not end has left is removed first.
 * @throws AllotError conflict when there is anything else in the store.
 */
export const beginImport = async (moved: TransferParts, since: string): Promise<void> => {
  await moved.git?.removeStale()
  await moved.files?.removeStale()
  const isPart = await moved.driver.write((tx) => claim(tx, since))
  if (isPart) await clear(moved)
}

/** Makes the store as empty as it was. */
export const resetStore = async (moved: TransferParts): Promise<void> => {
  await clear(moved)
  await moved.driver.write(async (tx) => importing.clear(tx))
}

const claim = async (tx: WriteTransaction, since: string): Promise<boolean> => {
  requireKnownLayout(await schemaVersion.get(tx))
  const isPart = (await importing.get(tx)) !== undefined
  if (!isPart && !(await isEmpty(tx)))
    throw new AllotError('conflict', 'the store is not empty: an import needs one that has nothing in it')
  importing.set(tx, { since })
  return isPart
}

const clear = async ({ driver, git, files: disk }: TransferParts): Promise<void> => {
  if (disk !== undefined)
    await driver.read(async (tx) => {
      for await (const { area, keeper, name } of files.all(tx)) await disk.remove({ area, keeper, name })
    })
  if (git !== undefined)
    await driver.read(async (tx) => {
      for await (const { id } of repositories.all(tx)) await git.remove(id)
    })
  while ((await driver.write(removeSome)) > 0);
}

/** @returns how many entries were removed */
const removeSome = async (tx: WriteTransaction): Promise<number> => {
  const keys = []
  for await (const [key] of contents(tx)) {
    keys.push(key)
    if (keys.length === BATCH_SIZE) break
  }
  for (const key of keys) tx.delete(key)
  return keys.length
}
