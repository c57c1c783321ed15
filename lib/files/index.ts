import { createHash, randomUUID } from 'node:crypto'
import { type FileHandle, mkdir, open, readdir, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Readable } from 'node:stream'
import { DeletionHold, ifMissing, isUnchangedFor, type OnDeletionError, syncToDisk } from '../disk.ts'
import { AllotError, invalid } from '../errors.ts'
import { FileArea } from '../records/schema/index.ts'

/** Identifies a file. */
export interface FilePlace {
  readonly area: FileArea
  /** Id of the repository (LFS objects, attachments) or the account (packages) that the file belongs to. */
  readonly ownerId: number
  /** Chosen by the server, never by a client: hexadecimal digits and dashes. */
  readonly name: string
}

/** Byte offsets, both inclusive. */
export interface ByteRange {
  /** Position of the first byte, from 0. */
  readonly start: number
  /** Position of the last byte. */
  readonly end: number
}

/** Properties of a content that are known before its bytes arrive. */
export interface ExpectedContent {
  /** Limit in bytes; without it there is none. */
  readonly maxSize?: number | undefined
  readonly size?: number | undefined
  /** Lower-case hexadecimal digits. */
  readonly sha256?: string | undefined
  /** Hashes to compute besides SHA-256. */
  readonly digests?: readonly Digest[]
}

/** Hashes that old clients of package registries ask for. */
type Digest = 'md5' | 'sha1' | 'sha512'

/** Size and hashes of a content, once it was read. */
export interface ContentInfo {
  /** Bytes. */
  readonly size: number
  /** Lower-case hexadecimal digits, as in `digests`. */
  readonly sha256: string
  readonly digests: Readonly<Partial<Record<Digest, string>>>
}

/** A complete, synced temporary file. */
export interface StagedFile extends ContentInfo {
  readonly path: string
}

const STAGING_FOLDER = 'arriving'
const READ_BYTES = 256 * 1024

/**
 * LFS objects, package files and attachments on disk, in `<area>/<bucket>/<ownerId>/<first two characters of the name>/<name>`.
 * Contents are read and written as streams; a whole file is never held in memory. Knows no records:
 * lib/repositories/stored-files.ts keeps files and records consistent.
 */
export class FileStorage {
  readonly #directory: string
  readonly #deletions: DeletionHold

  constructor({ directory, onDeletionError }: { directory: string; onDeletionError?: OnDeletionError }) {
    this.#directory = resolve(directory)
    this.#deletions = new DeletionHold(onDeletionError)
  }

  /**
   * Writes a content to a temporary file; `put` or `discard` must follow. When it fails, the file is removed and the stream
   * is not destroyed: the response may use the same connection.
   * @throws AllotError too_large, storage_full, or invalid when size or hash differ from the expected ones; and any error
   * of the stream
   */
  async stage(content: Readable, expected: ExpectedContent = {}): Promise<StagedFile> {
    if (expected.size !== undefined) checkSize(expected.size, expected)
    const folder = join(this.#directory, STAGING_FOLDER)
    await mkdir(folder, { recursive: true })
    const path = join(folder, randomUUID())
    const file = await open(path, 'wx', 0o600)
    try {
      const info = await writeContent(file, content, expected)
      await file.sync()
      return { path, ...info }
    } catch (error) {
      await rm(path, { force: true })
      throw toStorageFull(error)
    } finally {
      await file.close()
    }
  }

  /** Moves a staged file to its place, and replaces a file there. The file and its folders are durable when it resolves. */
  async put({ path }: StagedFile, place: FilePlace): Promise<void> {
    const folders = foldersOf(place).map((_, index, all) => join(this.#directory, ...all.slice(0, index + 1)))
    await moveInto(path, folders.at(-1)!, place.name).catch((error) => {
      throw toStorageFull(error)
    })
    await Promise.all([...folders, this.#directory].map(syncToDisk))
  }

  discard({ path }: StagedFile): Promise<void> {
    return rm(path, { force: true })
  }

  /** @throws Error with code ENOENT when the file does not exist */
  async read(place: FilePlace, range?: ByteRange): Promise<Readable> {
    const file = await open(pathOf(this.#directory, place), 'r')
    return file.createReadStream({ highWaterMark: READ_BYTES, ...range })
  }

  /** @returns bytes; undefined when the file does not exist */
  async size(place: FilePlace): Promise<number | undefined> {
    return (await stat(pathOf(this.#directory, place)).catch(ifMissing(undefined)))?.size
  }

  /**
   * Removes the file if it exists, and the folders that it leaves empty, after the last hold on deletions has ended.
   * @param onRemoved called afterwards
   */
  async remove(place: FilePlace, onRemoved?: () => Promise<void>): Promise<void> {
    await this.#deletions.remove(async () => {
      await rm(pathOf(this.#directory, place), { force: true })
      const [area, bucket, ownerId, prefix] = foldersOf(place)
      for (const folder of [join(area, bucket, ownerId, prefix), join(area, bucket, ownerId)])
        await rmdir(join(this.#directory, folder)).catch(ignoreFilled)
      await onRemoved?.()
    })
  }

  /** Defers removals until the returned function is called. */
  holdDeletions(): () => Promise<void> {
    return this.#deletions.hold()
  }

  /** Every file whose path is that of a stored file. */
  all(): AsyncIterable<FilePlace & { size: number }> {
    return listFiles(this.#directory, [])
  }

  /** Removes staged files that have not changed for `age` seconds: a killed process left them. */
  async recover(age = 0): Promise<void> {
    const folder = join(this.#directory, STAGING_FOLDER)
    for (const name of await readdir(folder).catch(ifMissing([]))) {
      const path = join(folder, name)
      if (await isUnchangedFor(path, age)) await rm(path, { force: true })
    }
  }
}

const NAME = /^[0-9a-f][0-9a-f-]{3,99}$/

export const isStoredName = (name: string): boolean => NAME.test(name)

/** @throws Error when the place could lead outside its folder */
export const checkPlace = ({ ownerId, name }: FilePlace): void => {
  if (!isStoredName(name)) throw new Error(`not a name for a stored file: ${JSON.stringify(name)}`)
  if (!Number.isSafeInteger(ownerId)) throw new Error(`not the id of a repository or an account: ${ownerId}`)
}

type Folders = [area: string, bucket: string, ownerId: string, prefix: string]

const foldersOf = (place: FilePlace): Folders => {
  checkPlace(place)
  const { area, ownerId, name } = place
  return [area, (ownerId % 256).toString(16).padStart(2, '0'), String(ownerId), name.slice(0, 2)]
}

const pathOf = (directory: string, place: FilePlace): string =>
  join(directory, ...foldersOf(place), place.name)

/** Inverse of {@link pathOf}, without the directory. @returns undefined when no place has this path */
const placeOf = (path: readonly string[]): FilePlace | undefined => {
  const [area, , ownerId, , name] = path as [FileArea, string, string, string, string]
  if (!FileArea.options.includes(area) || !isStoredName(name)) return undefined
  const place = { area, ownerId: Number(ownerId), name }
  return foldersOf(place).every((folder, index) => folder === path[index]) ? place : undefined
}

/** A removal may remove the folder between its creation and the move, or during its creation: then tries again. */
const moveInto = async (path: string, folder: string, name: string, attempts = 100): Promise<void> => {
  try {
    await mkdir(folder, { recursive: true })
    await rename(path, join(folder, name))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || attempts === 0) throw error
    await moveInto(path, folder, name, attempts - 1)
  }
}

/** A folder that another file is in, or that is already removed. */
const ignoreFilled = (error: NodeJS.ErrnoException): void => {
  if (!['ENOTEMPTY', 'EEXIST', 'ENOENT'].includes(error.code ?? '')) throw error
}

/** Reads one folder at a time. */
async function* listFiles(
  directory: string,
  path: readonly string[],
): AsyncGenerator<FilePlace & { size: number }> {
  const entries = await readdir(join(directory, ...path), { withFileTypes: true }).catch(ifMissing([]))
  for (const entry of entries) {
    const entryPath = [...path, entry.name]
    if (entry.isDirectory() && path.length < 4) yield* listFiles(directory, entryPath)
    const place = entry.isFile() && path.length === 4 ? placeOf(entryPath) : undefined
    const stats = place && (await stat(join(directory, ...entryPath)).catch(ifMissing(undefined)))
    if (place && stats) yield { ...place, size: stats.size }
  }
}

const writeContent = async (
  file: FileHandle,
  content: Readable,
  expected: ExpectedContent,
): Promise<ContentInfo> => {
  const names = ['sha256', ...(expected.digests ?? [])] as const
  const hashes = names.map((name) => ({ name, hash: createHash(name) }))
  let size = 0
  async function* hashed(): AsyncGenerator<Buffer> {
    for await (const chunk of content.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      size += chunk.length
      checkSize(size, expected)
      for (const { hash } of hashes) hash.update(chunk)
      yield chunk
    }
  }
  await writeFile(file, hashed())
  const digests = hashes.map(({ name, hash }) => [name, hash.digest('hex')] as const)
  const { sha256, ...others } = Object.fromEntries(digests) as { sha256: string } & ContentInfo['digests']
  if (expected.size !== undefined && size !== expected.size)
    throw invalid(`the content must have ${expected.size} bytes, got ${size}`)
  if (expected.sha256 !== undefined && sha256 !== expected.sha256)
    throw invalid(`the content must have the SHA-256 ${expected.sha256}, got ${sha256}`)
  return { size, sha256, digests: others }
}

/** Called for each chunk: refuses a content that is too large before the rest of it arrives. */
const checkSize = (size: number, expected: ExpectedContent): void => {
  if (expected.maxSize !== undefined && size > expected.maxSize)
    throw new AllotError('too_large', `a file must not be larger than ${expected.maxSize} bytes`)
  if (expected.size !== undefined && size > expected.size)
    throw invalid(`the content must have ${expected.size} bytes, got more`)
}

/** @returns a `storage_full` error for an error that says the disk or a disk quota is full, else the same error */
const toStorageFull = (error: unknown): unknown =>
  error instanceof Error && FULL_CODES.includes((error as NodeJS.ErrnoException).code ?? '')
    ? new AllotError('storage_full', 'the disk is full', { cause: error })
    : error
const FULL_CODES = ['ENOSPC', 'EDQUOT', 'EFBIG']
