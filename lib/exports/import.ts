import { AllotError, withLineNumber } from '../errors.ts'
import { entries, importing, isEmpty, storedLayout } from '../records/layout.ts'
import { CURRENT_LAYOUT, files, repositories } from '../records/schema/index.ts'
import { requireKnownLayout } from '../records/upgrade.ts'
import type { WriteTransaction } from '../storage/index.ts'
import { ContentImport } from './content-import.ts'
import type { InstanceStorage } from './export.ts'
import { currentTime, type LastLine, type OnProgress } from './format.ts'
import { BATCH_SIZE, importLines, type SavedLine } from './import-lines.ts'
import { saverOf } from './record-import.ts'

/**
 * Imports an export into an empty store. During the import the store is marked, so that a server does not
 * open an incomplete store, and a new import starts over after a crash. A refused file leaves the store
 * empty.
 * @throws AllotError conflict when the store is not empty; invalid, with the number of the line, when the
 * file is refused
 */
export const importStore = async (
  storage: InstanceStorage,
  source: AsyncIterable<Uint8Array>,
  onProgress?: OnProgress,
): Promise<LastLine> => {
  await beginImport(storage)
  const content = new ContentImport(storage)
  try {
    const last = await importLines(
      source,
      { content, save: (lines) => saveLines(storage, lines) },
      onProgress,
    )
    await storage.driver.write(async (tx) => {
      importing.clear(tx)
      storedLayout.set(tx, CURRENT_LAYOUT)
    })
    return last
  } catch (error) {
    if (error instanceof AllotError && error.code === 'invalid') await resetStore(storage)
    throw error
  }
}

const saveLines = async ({ driver }: InstanceStorage, lines: readonly SavedLine[]): Promise<void> => {
  const saves: { number: number; save: ReturnType<typeof saverOf> }[] = []
  for (const { number, line } of lines)
    saves.push({ number, save: await withLineNumber(number, () => saverOf(line)) })
  await driver.write(async (tx) => {
    for (const { number, save } of saves) await withLineNumber(number, () => save(tx))
  })
}

/**
 * Marks the store, after removing what an interrupted import left.
 * @throws AllotError conflict when it is not empty
 */
const beginImport = async (storage: InstanceStorage): Promise<void> => {
  const isPartial = await storage.driver.write(markStore)
  // Only now: the uploads of servers that use the store are not leftovers.
  await storage.gitStorage?.recover()
  await storage.fileStorage?.recover()
  if (isPartial) await clearStore(storage)
}

/** @returns whether the store contains an interrupted import */
const markStore = async (tx: WriteTransaction): Promise<boolean> => {
  const layout = await storedLayout.get(tx)
  if (layout !== undefined) requireKnownLayout(layout, CURRENT_LAYOUT)
  const isPartial = (await importing.get(tx)) !== undefined
  if (!isPartial && !(await isEmpty(tx)))
    throw new AllotError('conflict', 'the store is not empty: import into a new store')
  importing.set(tx, { since: currentTime() })
  return isPartial
}

/** Makes the store as empty as it was. */
const resetStore = async (storage: InstanceStorage): Promise<void> => {
  await clearStore(storage)
  await storage.driver.write(async (tx) => importing.clear(tx))
}

const clearStore = async ({ driver, gitStorage, fileStorage }: InstanceStorage): Promise<void> => {
  await driver.read(async (tx) => {
    if (fileStorage !== undefined)
      for await (const { area, ownerId, name } of files.all(tx))
        await fileStorage.remove({ area, ownerId, name })
    if (gitStorage !== undefined) for await (const { id } of repositories.all(tx)) await gitStorage.remove(id)
  })
  while ((await driver.write(removeBatch)) > 0);
}

/** @returns the number of removed entries */
const removeBatch = async (tx: WriteTransaction): Promise<number> => {
  const keys = []
  for await (const [key] of entries(tx)) {
    keys.push(key)
    if (keys.length === BATCH_SIZE) break
  }
  for (const key of keys) tx.delete(key)
  return keys.length
}
