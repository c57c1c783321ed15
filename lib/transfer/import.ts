import { AllotError } from '../errors.ts'
import { contents, importing, isEmpty, schemaVersion } from '../records/metadata.ts'
import { requireKnownLayout } from '../records/migrate.ts'
import { files, repositories } from '../records/schema/index.ts'
import { LAYOUT_VERSION } from '../records/schema/migrations.ts'
import type { WriteTransaction } from '../storage/index.ts'
import {
  createFileImport,
  createRepositoryImport,
  type FileImport,
  type RepositoryImport,
} from './content-import.ts'
import type { TransferParts } from './export.ts'
import { exportReader, type FirstLine, type LastLine, type Line, type OnProgress, timeNow } from './format.ts'
import { errorWithLine, type ParsedLine, parseLine, saveAll } from './record-import.ts'

interface All {
  repositories: RepositoryImport
  files: FileImport
}

/** Lines that are saved in one transaction. */
const BATCH_SIZE = 500

/**
 * Reads an export into a store that has nothing in it. While that goes on the store is marked, so that nothing takes the
 * part for the whole, and an import after a kill begins anew. A file that is refused leaves the store as empty as it was.
 * @throws AllotError conflict when the store is not empty; invalid naming the line when the file is not as it should be.
 */
export const importStore = async (
  moved: TransferParts,
  source: AsyncIterable<Uint8Array>,
  told: OnProgress = () => undefined,
): Promise<LastLine> => {
  await beginImport(moved, timeNow())
  const arrivals = { repositories: createRepositoryImport(moved), files: createFileImport(moved) }
  try {
    const last = await readAll(moved, arrivals, source, told)
    await moved.driver.write(async (tx) => {
      importing.clear(tx)
      schemaVersion.set(tx, LAYOUT_VERSION)
    })
    return last
  } catch (error) {
    await arrivals.repositories.abandon()
    await arrivals.files.abandon()
    if (error instanceof AllotError && error.code === 'invalid') await resetStore(moved)
    throw error
  }
}

const readAll = async (
  moved: TransferParts,
  arrivals: All,
  source: AsyncIterable<Uint8Array>,
  told: OnProgress,
): Promise<LastLine> => {
  const reader = exportReader(acceptLayout)
  const progress = { records: 0, bytes: 0 }
  for await (const chunk of source) {
    const lines = reader.push(chunk)
    for (let at = 0; at < lines.length; at += BATCH_SIZE)
      await take(moved, arrivals, lines.slice(at, at + BATCH_SIZE))
    progress.records += lines.length
    progress.bytes += chunk.length
    told(progress)
  }
  const last = reader.end()
  arrivals.repositories.end()
  arrivals.files.end()
  return last
}

/** Records by the transaction, repositories and files one by one; they come after the records. */
const take = async ({ driver }: TransferParts, arrivals: All, lines: readonly Line[]): Promise<void> => {
  const read = lines.map((line) => ({ number: line.number, ...parseLine(line) }))
  const stored = read.filter((one) => one.kind === 'stored')
  if (stored.length > 0) await saveAll(driver, stored)
  for (const one of read)
    if (one.kind !== 'stored')
      await arrive(arrivals, one).catch((error) => {
        throw errorWithLine(one.number, error)
      })
}

const arrive = (
  { repositories, files }: All,
  content: Exclude<ParsedLine, { kind: 'stored' }>,
): Promise<void> => {
  if (content.kind === 'part') return repositories.part(content.repository, content.part)
  if (content.kind === 'head') return repositories.head(content.repository, content.head)
  return content.kind === 'filePart' ? files.part(content.file, content.part) : files.whole(content.file)
}

/** Only a store of the same layout has the same records; the way from one layout to the next leads through a store. */
const acceptLayout = ({ schema }: FirstLine): void => {
  if (schema > LAYOUT_VERSION)
    throw new AllotError(
      'invalid',
      `this file is from a store of a newer Allot (its layout is ${schema}, this one knows ${LAYOUT_VERSION}): use the newer one`,
    )
  if (schema < LAYOUT_VERSION)
    throw new AllotError(
      'invalid',
      `this file is from a store of an older Allot (its layout is ${schema}): import it with that one, and open the store with this one`,
    )
}

/** Entries that are removed in one transaction. */
const REMOVAL_BATCH_SIZE = 500

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
  const layout = await schemaVersion.get(tx)
  if (layout !== undefined) requireKnownLayout(layout, LAYOUT_VERSION)
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
    if (keys.length === REMOVAL_BATCH_SIZE) break
  }
  for (const key of keys) tx.delete(key)
  return keys.length
}
