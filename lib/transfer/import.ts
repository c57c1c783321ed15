import { AllotError } from '../errors.ts'
import { importing, schemaVersion } from '../records/metadata.ts'
import { LAYOUT_VERSION } from '../records/migrations.ts'
import type { TransferParts } from './export.ts'
import { createFileImport, type FileImport } from './file-import.ts'
import { type FirstLine, type LastLine, timeNow } from './format.ts'
import type { OnProgress } from './line-writer.ts'
import { exportReader, type Line } from './reader.ts'
import { errorWithLine, type ParsedLine, parseLine, saveAll } from './record-import.ts'
import { createRepositoryImport, type RepositoryImport } from './content-import.ts'
import { beginImport, resetStore } from './reset-store.ts'

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
