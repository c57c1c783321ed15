import type { FileStore } from '../files/index.ts'
import type { GitStore } from '../git/index.ts'
import { collections, files, repositories } from '../records/schema/index.ts'
import { LAYOUT_VERSION } from '../records/schema/migrations.ts'
import { sequencesIn } from '../records/sequence.ts'
import type { ReadTransaction, StorageDriver } from '../storage/index.ts'
import {
  type FirstLine,
  FORMAT,
  type LastLine,
  type LineWriter,
  lineWriter,
  type OnProgress,
  PART_BYTES,
  timeNow,
  VERSION,
  type Write,
} from './format.ts'

/** What is moved: the records, and the repositories and files unless the host keeps them itself. */
export interface TransferParts {
  driver: StorageDriver
  git: GitStore | undefined
  files: FileStore | undefined
}

/**
 * Writes everything as it is at one moment, while others go on writing. A repository is read when its turn comes: what
 * is pushed until then comes along, and one that is deleted meanwhile is kept until the export is done.
 * @returns what the last line says
 */
export const exportStore = async (
  { driver, git, files: disk }: TransferParts,
  write: Write,
  told: OnProgress = () => undefined,
): Promise<LastLine> => {
  const [letGo, letFilesGo] = [git?.holdDeletions(), disk?.holdDeletions()]
  try {
    return await driver.read(async (tx) => {
      const to = lineWriter(write, told)
      await to.line(JSON.stringify(firstLine()))
      await writeRecords(tx, to)
      if (git !== undefined) await writeRepositories(tx, git, to)
      if (disk !== undefined) await writeFiles(tx, disk, to)
      return to.end()
    })
  } finally {
    await letGo?.()
    await letFilesGo?.()
  }
}

const firstLine = (): FirstLine => ({
  format: FORMAT,
  version: VERSION,
  schema: LAYOUT_VERSION,
  time: timeNow(),
})

const writeRecords = async (tx: ReadTransaction, to: LineWriter): Promise<void> => {
  for await (const { name, next } of sequencesIn(tx)) await to.line(JSON.stringify({ sequence: name, next }))
  for (const collection of collections) {
    const begin = Buffer.from(`{"collection":${JSON.stringify(collection.options.name)},"record":`)
    for await (const json of collection.allJson(tx)) await to.line(begin, json, '}')
  }
}

/** One whose files are not there, which only a damaged disk explains, is left out: the rest is worth having. */
const writeRepositories = async (tx: ReadTransaction, git: GitStore, to: LineWriter): Promise<void> => {
  for await (const { id } of repositories.all(tx)) {
    const bundled = await git.bundle(id)
    if (bundled === undefined) continue
    const { head, parts } = bundled
    if (parts !== undefined)
      for await (const part of inParts(parts))
        await to.line(JSON.stringify({ repository: id, part: part.toString('base64') }))
    await to.line(JSON.stringify({ repository: id, head }))
  }
}

/** Likewise. */
const writeFiles = async (tx: ReadTransaction, disk: FileStore, to: LineWriter): Promise<void> => {
  for await (const { area, keeper, name, state } of files.all(tx)) {
    const place = { area, keeper, name }
    if (state !== 'kept' || (await disk.size(place)) === undefined) continue
    const file = [area, keeper, name]
    for await (const part of inParts(await disk.read(place)))
      await to.line(JSON.stringify({ file, part: part.toString('base64') }))
    await to.line(JSON.stringify({ file, whole: true }))
  }
}

/** The same bytes in parts of one size, the last one excepted. */
async function* inParts(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of chunks) {
    rest = Buffer.concat([rest, chunk])
    for (; rest.length >= PART_BYTES; rest = rest.subarray(PART_BYTES)) yield rest.subarray(0, PART_BYTES)
  }
  if (rest.length > 0) yield rest
}
