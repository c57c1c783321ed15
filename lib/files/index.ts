import { randomUUID } from 'node:crypto'
import { type FileHandle, open, readdir, rename, rm, rmdir, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { Readable } from 'node:stream'
import * as v from 'valibot'
import {
  DeletionHold,
  diskFault,
  ifMissing,
  isUnchangedFor,
  makeFolder,
  type OnDeletionError,
} from '../disk.ts'
import { storedName } from '../records/fields.ts'
import { FileArea } from '../records/schema/index.ts'
import { type ContentInfo, checkSize, type ExpectedContent, writeContent } from './content-writer.ts'
import { FolderSync } from './folder-sync.ts'

export type { ContentInfo, ExpectedContent } from './content-writer.ts'

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

/** A complete temporary file. */
export interface StagedFile extends ContentInfo {
  readonly path: string
  /** Resolves when the content is durable. A rejection that nothing waits for is not reported. */
  readonly synced: Promise<void>
}

interface FileStorageOptions {
  readonly directory: string
  /** Whether no other process removes files, which takes fewer syncs of folders. */
  readonly isAlone?: boolean
  readonly onDeletionError?: OnDeletionError
}

const STAGING_FOLDER = 'arriving'
const READ_BYTES = 256 * 1024

/**
 * LFS objects, package files and attachments on disk, in
 * `<area>/<bucket>/<ownerId>/<first two characters of the name>/<name>`. Contents are read and written as
 * streams; a whole file is never held in memory. Knows no records: lib/repositories/stored-files.ts keeps
 * files and records consistent.
 */
export class FileStorage {
  readonly #directory: string
  readonly #deletions: DeletionHold
  readonly #onDeletionError: OnDeletionError
  readonly #folders: FolderSync

  constructor({ directory, isAlone = false, onDeletionError = () => undefined }: FileStorageOptions) {
    this.#directory = resolve(directory)
    this.#folders = new FolderSync(isAlone)
    this.#deletions = new DeletionHold(onDeletionError)
    this.#onDeletionError = onDeletionError
  }

  /**
   * Writes a content to a temporary file; `put` or `discard` must follow. The content becomes durable
   * meanwhile. When it fails, the file is removed and the stream is not destroyed: the response may use the
   * same connection.
   * @throws AllotError too_large, storage_full, or invalid when size or hash differ from the expected ones;
   * and any error of the stream
   */
  async stage(content: Readable, expected: ExpectedContent = {}): Promise<StagedFile> {
    if (expected.size !== undefined) checkSize(expected.size, expected)
    const path = join(this.#directory, STAGING_FOLDER, randomUUID())
    const file = await createFile(path)
    try {
      const info = await writeContent(file, content, expected)
      const synced = file.sync().finally(() => file.close())
      synced.catch(() => undefined)
      return { path, ...info, synced }
    } catch (error) {
      await file.close()
      await rm(path, { force: true })
      throw diskFault(error) ?? error
    }
  }

  /**
   * Moves a staged file to its place. The file and its folders are durable when it resolves. When it replaces
   * a file there, wait for `synced` before: a crash would leave neither content.
   */
  async put({ path, synced }: StagedFile, place: FilePlace): Promise<void> {
    const paths = foldersOf(place).map((_, index, all) => join(this.#directory, ...all.slice(0, index + 1)))
    await moveInto(path, paths.at(-1)!, place.name).catch((error) => {
      throw diskFault(error) ?? error
    })
    // Waits for both: a caller may remove the file once this fails.
    const durable = [synced, this.#folders.sync([this.#directory, ...paths])]
    for (const outcome of await Promise.allSettled(durable))
      if (outcome.status === 'rejected') throw diskFault(outcome.reason) ?? outcome.reason
  }

  async discard({ path, synced }: StagedFile): Promise<void> {
    await synced.catch(() => undefined)
    await rm(path, { force: true })
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
   * Removes the file if it exists, and the folders that it leaves empty, after the last hold on deletions has
   * ended.
   * @param onRemoved called afterwards
   */
  async remove(place: FilePlace, onRemoved?: () => Promise<void>): Promise<void> {
    await this.#deletions.remove(async () => {
      await rm(pathOf(this.#directory, place), { force: true })
      const [area, bucket, ownerId, prefix] = foldersOf(place)
      for (const path of [join(area, bucket, ownerId, prefix), join(area, bucket, ownerId)]) {
        const folder = join(this.#directory, path)
        this.#folders.forget(folder)
        await rmdir(folder).catch(ignoreFilled)
      }
      await onRemoved?.()
    })
  }

  /** Defers removals until the returned function is called. */
  holdDeletions(): () => Promise<void> {
    return this.#deletions.hold()
  }

  /** Every file whose path is that of a stored file. */
  all(): AsyncIterable<FilePlace> {
    return listFiles(this.#directory, [])
  }

  /**
   * Removes staged files that have not changed for `age` seconds: a killed process left them. What cannot be
   * removed is reported, and stays until the next start.
   */
  async recover(age = 0): Promise<void> {
    const path = join(this.#directory, STAGING_FOLDER)
    const names = readdir(path).catch(ifMissing<string[]>([]))
    const listed = await names.catch((error) => {
      this.#onDeletionError(error, { path })
      return []
    })
    for (const staged of listed.map((name) => join(path, name)))
      try {
        if (await isUnchangedFor(staged, age)) await rm(staged, { force: true })
      } catch (error) {
        this.#onDeletionError(error, { path: staged })
      }
  }
}

const isStoredName = (name: string): boolean => v.is(storedName, name)

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

/**
 * Inverse of {@link pathOf}, without the directory.
 * @returns undefined when no place has this path
 */
const placeOf = (path: readonly string[]): FilePlace | undefined => {
  const [area, , ownerId, , name] = path as [FileArea, string, string, string, string]
  if (!FileArea.options.includes(area) || !isStoredName(name)) return undefined
  const place = { area, ownerId: Number(ownerId), name }
  return foldersOf(place).every((folder, index) => folder === path[index]) ? place : undefined
}

/** Creates a file to write, in a folder that may not exist. */
const createFile = async (path: string): Promise<FileHandle> => {
  const create = () => open(path, 'wx', 0o600)
  return create().catch(async (error) => {
    ifMissing(undefined)(error)
    await makeFolder(dirname(path))
    return create()
  })
}

/**
 * Ignores the two codes with which creating a folder fails when another request removes it at the same time.
 */
const ifRemovedMeanwhile = (error: NodeJS.ErrnoException): void => {
  if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error
}

/** Tries again when another request removes the folder while it is created, or before the file is in it. */
const moveInto = async (path: string, folder: string, name: string, attempts = 100): Promise<void> => {
  try {
    await rename(path, join(folder, name))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || attempts === 0) throw error
    await makeFolder(folder).catch(ifRemovedMeanwhile)
    await moveInto(path, folder, name, attempts - 1)
  }
}

/** Ignores that a folder has another file, or is already removed. */
const ignoreFilled = (error: NodeJS.ErrnoException): void => {
  if (!['ENOTEMPTY', 'EEXIST', 'ENOENT'].includes(error.code ?? '')) throw error
}

/** Reads one folder at a time. */
async function* listFiles(directory: string, path: readonly string[]): AsyncGenerator<FilePlace> {
  const entries = await readdir(join(directory, ...path), { withFileTypes: true }).catch(ifMissing([]))
  for (const entry of entries) {
    const entryPath = [...path, entry.name]
    if (entry.isDirectory() && path.length < 4) yield* listFiles(directory, entryPath)
    const place = entry.isFile() && path.length === 4 ? placeOf(entryPath) : undefined
    if (place !== undefined) yield place
  }
}
