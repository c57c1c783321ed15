import { createHash } from 'node:crypto'
import { ifMissing } from '../disk.ts'
import { checkArgument } from '../errors.ts'
import type { FileStorage } from '../files/index.ts'
import type { GitStorage } from '../git/index.ts'
import { CURRENT_LAYOUT, collections, files, repositories } from '../records/schema/index.ts'
import { sequencesIn } from '../records/store.ts'
import type { ReadTransaction, StorageDriver } from '../storage/index.ts'
import {
  currentTime,
  type FirstLine,
  FORMAT,
  FORMAT_VERSION,
  type LastLine,
  type OnProgress,
  type Write,
} from './format.ts'

/** The storages that exports read and imports write. Undefined are those that the host has itself. */
export interface InstanceStorage {
  driver: StorageDriver
  gitStorage: GitStorage | undefined
  fileStorage: FileStorage | undefined
}

/**
 * Exports the records as of one moment, while others write. Deletions of repositories and files by this
 * process are deferred until the export is done; what another process deletes is left out and counted, or
 * ends the export while git reads the repository. Each repository is read in its turn, so pushes before that
 * are included.
 * @throws AllotError invalid without a function that writes
 */
export const exportStore = async (
  { driver, gitStorage, fileStorage }: InstanceStorage,
  write: Write,
  onProgress?: OnProgress,
): Promise<LastLine> => {
  checkArgument(typeof write === 'function', 'write', 'a function', write)
  const resumeDeletions = [gitStorage?.holdDeletions(), fileStorage?.holdDeletions()]
  try {
    return await driver.read(async (tx) => {
      const writer = new LineWriter(write, onProgress)
      await writer.line(JSON.stringify(firstLine()))
      await writeRecords(tx, writer)
      const repositories = gitStorage === undefined ? 0 : await writeRepositories(tx, gitStorage, writer)
      const files = fileStorage === undefined ? 0 : await writeFiles(tx, fileStorage, writer)
      return writer.end(repositories + files)
    })
  } finally {
    for (const resume of resumeDeletions) await resume?.()
  }
}

const firstLine = (): FirstLine => ({
  format: FORMAT,
  version: FORMAT_VERSION,
  layout: CURRENT_LAYOUT,
  time: currentTime(),
})

const writeRecords = async (tx: ReadTransaction, writer: LineWriter): Promise<void> => {
  for await (const { name, next } of sequencesIn(tx))
    await writer.line(JSON.stringify({ sequence: name, next }))
  for (const collection of collections) {
    const start = Buffer.from(`{"collection":${JSON.stringify(collection.options.name)},"record":`)
    for await (const json of collection.allJson(tx)) await writer.line(start, json, '}')
  }
}

/** @returns how many repositories are missing on the disk, and are left out */
const writeRepositories = async (
  tx: ReadTransaction,
  gitStorage: GitStorage,
  writer: LineWriter,
): Promise<number> => {
  let missing = 0
  for await (const { id } of repositories.all(tx)) {
    const bundle = await gitStorage.bundle(id)
    if (bundle === undefined) {
      missing++
      continue
    }
    if (bundle.parts !== undefined)
      for await (const part of inParts(bundle.parts))
        await writer.line(JSON.stringify({ repository: id, part: part.toString('base64') }))
    await writer.line(JSON.stringify({ repository: id, head: bundle.head }))
  }
  return missing
}

/** Like {@link writeRepositories}. */
const writeFiles = async (
  tx: ReadTransaction,
  fileStorage: FileStorage,
  writer: LineWriter,
): Promise<number> => {
  let missing = 0
  for await (const { area, ownerId, name } of files.all(tx)) {
    const place = { area, ownerId, name }
    const content = await fileStorage.read(place).catch(ifMissing(undefined))
    if (content === undefined) {
      missing++
      continue
    }
    const file = [area, ownerId, name]
    for await (const part of inParts(content))
      await writer.line(JSON.stringify({ file, part: part.toString('base64') }))
    await writer.line(JSON.stringify({ file, whole: true }))
  }
  return missing
}

/** Bytes of a bundle or a file in one line. */
const PART_BYTES = 48 * 1024

/** Parts of `PART_BYTES`; the last one may be shorter. */
async function* inParts(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of chunks) {
    rest = Buffer.concat([rest, chunk])
    for (; rest.length >= PART_BYTES; rest = rest.subarray(PART_BYTES)) yield rest.subarray(0, PART_BYTES)
  }
  if (rest.length > 0) yield rest
}

/** Bytes that are collected for one write. */
const WRITE_BYTES = 64 * 1024

/** Writes lines, and at the end their number and checksum. */
export class LineWriter {
  readonly #write: Write
  readonly #onProgress: OnProgress
  readonly #hash = createHash('sha256')
  #pieces: Uint8Array[] = []
  #size = 0
  #lines = 0
  #bytes = 0

  constructor(write: Write, onProgress: OnProgress = () => undefined) {
    this.#write = write
    this.#onProgress = onProgress
  }

  async line(...texts: (Uint8Array | string)[]): Promise<void> {
    for (const text of [...texts, '\n']) {
      const piece = typeof text === 'string' ? Buffer.from(text) : text
      this.#pieces.push(piece)
      this.#size += piece.length
    }
    this.#lines++
    if (this.#size >= WRITE_BYTES) await this.#flush()
  }

  /** @param missing number of repositories and files without their data */
  async end(missing: number): Promise<LastLine> {
    await this.#flush()
    const last: LastLine = { end: true, lines: this.#lines - 1, missing, sha256: this.#hash.digest('hex') }
    await this.#write(Buffer.from(`${JSON.stringify(last)}\n`))
    return last
  }

  async #flush(): Promise<void> {
    const chunk = Buffer.concat(this.#pieces)
    this.#pieces = []
    this.#size = 0
    this.#bytes += chunk.length
    this.#hash.update(chunk)
    await this.#write(chunk)
    this.#onProgress({ lines: Math.max(0, this.#lines - 1), bytes: this.#bytes })
  }
}
