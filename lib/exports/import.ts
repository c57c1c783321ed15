import { AllotError, invalid, withLineNumber } from '../errors.ts'
import { entries, importing, isEmpty, storedLayout, upgradedFrom } from '../records/layout.ts'
import { CURRENT_LAYOUT, files, repositories } from '../records/schema/index.ts'
import { requireKnownLayout } from '../records/upgrade.ts'
import type { WriteTransaction } from '../storage/index.ts'
import { ContentImport } from './content-import.ts'
import type { InstanceStorage } from './export.ts'
import {
  type ContentLine,
  currentTime,
  type FirstLine,
  type LastLine,
  type Line,
  type OnProgress,
  parseLine,
  readExport,
} from './format.ts'
import { saverOf } from './record-import.ts'

/** Entries that an import writes in one transaction. */
const BATCH_SIZE = 500

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
  try {
    const last = await importLines(storage, source, onProgress)
    await storage.driver.write(async (tx) => {
      importing.clear(tx)
      upgradedFrom.clear(tx)
      storedLayout.set(tx, CURRENT_LAYOUT)
    })
    return last
  } catch (error) {
    if (error instanceof AllotError && error.code === 'invalid') await resetStore(storage)
    throw error
  }
}

/**
 * Invariant: records that follow content are refused, so an import has saved all records before it writes git
 * data or a file.
 * @throws AllotError invalid, with the number of the line, when the file is refused; incomplete content is
 * removed
 */
const importLines = async (
  storage: InstanceStorage,
  source: AsyncIterable<Uint8Array>,
  onProgress: OnProgress | undefined,
): Promise<LastLine> => {
  const content = new ContentImport(storage)
  let isContent = false
  const importBatch = async (lines: readonly Line[]): Promise<void> => {
    const { saves, contents } = await parseBatch(lines, isContent)
    isContent ||= contents.length > 0
    if (saves.length > 0)
      await storage.driver.write(async (tx) => {
        for (const { number, save } of saves) await withLineNumber(number, () => save(tx))
      })
    for (const { number, line } of contents) await withLineNumber(number, () => content.add(line))
  }
  const addLines = async (lines: readonly Line[]) => {
    for (let index = 0; index < lines.length; index += BATCH_SIZE)
      await importBatch(lines.slice(index, index + BATCH_SIZE))
  }
  try {
    const last = await readExport(source, addLines, { checkFirst: checkLayout, onProgress })
    content.end()
    return last
  } catch (error) {
    await content.abandon()
    throw error
  }
}

/** @param isContent whether lines of content came before */
const parseBatch = async (lines: readonly Line[], isContent: boolean) => {
  const saves: { number: number; save: ReturnType<typeof saverOf> }[] = []
  const contents: { number: number; line: ContentLine }[] = []
  for (const { number, text } of lines)
    await withLineNumber(number, () => {
      const line = parseLine(text)
      if ('repository' in line || 'file' in line) contents.push({ number, line })
      else if (isContent || contents.length > 0)
        throw invalid('records must come before git data and files: the file is damaged, so export again')
      else saves.push({ number, save: saverOf(line) })
    })
  return { saves, contents }
}

/** The records of other layouts differ. Upgrades work on a store, not on an export. */
const checkLayout = ({ layout }: FirstLine): void => {
  if (layout > CURRENT_LAYOUT)
    throw new AllotError(
      'invalid',
      `the file is from a newer Allot (layout ${layout}, this one supports ${CURRENT_LAYOUT}): import it with the newer one`,
    )
  if (layout < CURRENT_LAYOUT)
    throw new AllotError(
      'invalid',
      `the file is from an older Allot (layout ${layout}, this one needs ${CURRENT_LAYOUT}): import it with the older one, then open that store with this one`,
    )
}

/**
 * Marks the store, after removing what an interrupted import left.
 * @throws AllotError conflict when it is not empty
 */
const beginImport = async (storage: InstanceStorage): Promise<void> => {
  const isPartial = await storage.driver.write(markStore)
  // Only now: the uploads of servers that use the store are not leftovers.
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
