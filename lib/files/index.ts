import { createHash, randomUUID } from 'node:crypto'
import { type FileHandle, mkdir, open, readdir, rename, rm, rmdir, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Readable } from 'node:stream'
import { createDeletionHold, ifMissing, isUnchangedFor, syncToDisk } from '../disk.ts'
import { AllotError, invalid } from '../errors.ts'

/** Byte offsets, both inclusive. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

/**
 * LFS objects, package files and attachments on disk. Contents are read and written as streams; a whole file is never held
 * in memory. The store knows no records: lib/repositories/files.ts keeps files and records consistent.
 */
export interface FileStore {
  /** Writes a content to a temporary file; `put` or `discard` must follow. @throws AllotError as `stage` does */
  stage(content: Readable, expected?: ExpectedContent): Promise<StagedFile>
  /** Moves a staged file to its place, and replaces a file there. Durable when it resolves. */
  put(staged: StagedFile, place: FilePlace): Promise<void>
  discard(staged: StagedFile): Promise<void>
  /** @throws Error with code ENOENT when the file does not exist */
  read(place: FilePlace, range?: ByteRange): Promise<Readable>
  /** @returns bytes; undefined when the file does not exist */
  size(place: FilePlace): Promise<number | undefined>
  /** Removes the file if it exists, after the last hold on deletions has ended. @param onRemoved called afterwards */
  remove(place: FilePlace, onRemoved?: () => Promise<void>): Promise<void>
  /** Defers removals until the returned function is called. */
  holdDeletions(): () => Promise<void>
  /** Every file that has its place. */
  all(): AsyncIterable<FilePlace & { size: number }>
  /** Removes staged files that have not changed for `age` seconds: a killed process left them. */
  removeStale(age?: number): Promise<void>
}

const READ_BYTES = 256 * 1024

export const createFileStore = (options: { directory: string }): FileStore => {
  const directory = resolve(options.directory)
  const deletions = createDeletionHold()
  return {
    stage: (content, expected = {}) => stage(directory, content, expected),
    put: ({ path }, place) => placeFile(directory, path, place),
    discard: ({ path }) => rm(path, { force: true }),
    async read(place, range) {
      const file = await open(pathOf(directory, place), 'r')
      return file.createReadStream({ highWaterMark: READ_BYTES, ...range })
    },
    size: async (place) => (await stat(pathOf(directory, place)).catch(ifMissing(undefined)))?.size,
    async remove(place, onRemoved) {
      await deletions.remove(async () => {
        await removeFile(directory, place)
        await onRemoved?.()
      })
    },
    holdDeletions: deletions.hold,
    all: () => listFiles(directory),
    removeStale: (age = 0) => removeStale(directory, age),
  }
}

/** The layout of the files folder: `<area>/<shard>/<ownerId>/<first two characters of the name>/<name>`. */

const AREAS = ['lfs', 'packages', 'attachments'] as const

export type FileArea = (typeof AREAS)[number]

/** Identifies a file. */
export interface FilePlace {
  readonly area: FileArea
  /** Id of the repository (LFS objects, attachments) or the account (packages) that the file belongs to. */
  readonly ownerId: number
  /** Chosen by the server, never by a client: hexadecimal digits and dashes. */
  readonly name: string
}

const NAME = /^[0-9a-f][0-9a-f-]{3,99}$/

export const isStoredName = (name: string): boolean => NAME.test(name)

/** @throws Error when the place could lead outside its folder */
export const checkPlace = ({ ownerId, name }: FilePlace): void => {
  if (!isStoredName(name)) throw new Error(`not a name for a stored file: ${JSON.stringify(name)}`)
  if (!Number.isSafeInteger(ownerId)) throw new Error(`not the id of a repository or an account: ${ownerId}`)
}

type Folders = [area: string, shard: string, ownerId: string, prefix: string]

const foldersOf = (place: FilePlace): Folders => {
  checkPlace(place)
  const { area, ownerId, name } = place
  return [area, (ownerId % 256).toString(16).padStart(2, '0'), String(ownerId), name.slice(0, 2)]
}

export const pathOf = (directory: string, place: FilePlace): string =>
  join(directory, ...foldersOf(place), place.name)

/** Inverse of {@link pathOf}, without the directory. @returns undefined when no place has this path */
const placeOf = (path: readonly string[]): FilePlace | undefined => {
  const [area, , ownerId, , name] = path as [FileArea, string, string, string, string]
  if (!AREAS.includes(area) || !isStoredName(name)) return undefined
  const place = { area, ownerId: Number(ownerId), name }
  return foldersOf(place).every((folder, index) => folder === path[index]) ? place : undefined
}

/** Moves a staged file to its place. The file and its folders are durable when this resolves, before its record is saved. */
export const placeFile = async (directory: string, path: string, place: FilePlace): Promise<void> => {
  const folders = foldersOf(place).map((_, index, all) => join(directory, ...all.slice(0, index + 1)))
  await moveInto(path, folders.at(-1)!, place.name).catch((error) => {
    throw toStorageFull(error)
  })
  for (const folder of [...folders.reverse(), directory]) await syncToDisk(folder)
}

/** {@link removeFile} may remove the folder between its creation and the move, or during its creation: then tries again. */
const moveInto = async (path: string, folder: string, name: string, attempts = 100): Promise<void> => {
  try {
    await mkdir(folder, { recursive: true })
    await rename(path, join(folder, name))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || attempts === 0) throw error
    await moveInto(path, folder, name, attempts - 1)
  }
}

/** Removes a file if it exists, and the folders that it leaves empty. */
export const removeFile = async (directory: string, place: FilePlace): Promise<void> => {
  await rm(pathOf(directory, place), { force: true })
  const [area, shard, ownerId, prefix] = foldersOf(place)
  for (const folder of [join(area, shard, ownerId, prefix), join(area, shard, ownerId)])
    await rmdir(join(directory, folder)).catch((error: NodeJS.ErrnoException) => {
      if (!['ENOTEMPTY', 'EEXIST', 'ENOENT'].includes(error.code ?? '')) throw error
    })
}

/** Removes staged files that have not changed for `age` seconds. */
export const removeStale = async (directory: string, age: number): Promise<void> => {
  const folder = join(directory, STAGING_FOLDER)
  for (const name of await readdir(folder).catch(ifMissing([]))) {
    const path = join(folder, name)
    if (await isUnchangedFor(path, age)) await rm(path, { force: true })
  }
}

/** Every file that has its place; reads one folder at a time. */
export async function* listFiles(
  directory: string,
  path: readonly string[] = [],
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

/** What is known of a content before its bytes arrive. */
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

export const STAGING_FOLDER = 'arriving'

/**
 * Writes a content to a temporary file. When it fails, the file is removed and the stream is not destroyed: the response
 * may use the same connection.
 * @throws AllotError too_large, storage_full, or invalid when size or hash differ from the expected ones; and any error of
 * the stream
 */
export const stage = async (
  directory: string,
  content: Readable,
  expected: ExpectedContent,
): Promise<StagedFile> => {
  if (expected.size !== undefined) checkSize(expected.size, expected)
  await mkdir(join(directory, STAGING_FOLDER), { recursive: true })
  const path = join(directory, STAGING_FOLDER, randomUUID())
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

const writeContent = async (
  file: FileHandle,
  content: Readable,
  expected: ExpectedContent,
): Promise<ContentInfo> => {
  const hash = createHash('sha256')
  const others = (expected.digests ?? []).map((name) => ({ name, hash: createHash(name) }))
  const writer = createWriter(file)
  let size = 0
  for await (const chunk of content.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length
    checkSize(size, expected)
    hash.update(chunk)
    for (const other of others) other.hash.update(chunk)
    await writer.add(chunk)
  }
  await writer.end()
  const sha256 = hash.digest('hex')
  if (expected.size !== undefined && size !== expected.size)
    throw invalid(`the content must have ${expected.size} bytes, got ${size}`)
  if (expected.sha256 !== undefined && sha256 !== expected.sha256)
    throw invalid(`the content must have the SHA-256 ${expected.sha256}, got ${sha256}`)
  const digests = Object.fromEntries(others.map(({ name, hash }) => [name, hash.digest('hex')]))
  return { size, sha256, digests }
}

/** Called for each chunk: refuses a content that is too large before the rest of it arrives. */
const checkSize = (size: number, expected: ExpectedContent): void => {
  if (expected.maxSize !== undefined && size > expected.maxSize)
    throw new AllotError('too_large', `a file must not be larger than ${expected.maxSize} bytes`)
  if (expected.size !== undefined && size > expected.size)
    throw invalid(`the content must have ${expected.size} bytes, got more`)
}

/** @returns a `storage_full` error for an error that says the disk or a disk quota is full, else the same error */
export const toStorageFull = (error: unknown): unknown =>
  error instanceof Error && FULL_CODES.includes((error as NodeJS.ErrnoException).code ?? '')
    ? new AllotError('storage_full', 'the disk is full', { cause: error })
    : error
const FULL_CODES = ['ENOSPC', 'EDQUOT', 'EFBIG']

/** Bytes that are collected for one write. */
const WRITE_BYTES = 512 * 1024

/** Writes in large pieces, each while the next one is collected. Holds at most two of them in memory. */
const createWriter = (file: FileHandle) => {
  let chunks: Buffer[] = []
  let size = 0
  let lastWrite: Promise<void> = Promise.resolve()

  const flush = async () => {
    const collected = chunks
    chunks = []
    size = 0
    await lastWrite
    lastWrite = writeAll(file, collected)
    // The next call of flush or end throws it.
    lastWrite.catch(() => undefined)
  }

  return {
    /** Resolves when the next chunk may be added. */
    async add(chunk: Buffer): Promise<void> {
      chunks.push(chunk)
      size += chunk.length
      if (size >= WRITE_BYTES) await flush()
    },
    /** Resolves when everything is written. */
    async end(): Promise<void> {
      await flush()
      await lastWrite
    },
  }
}

const writeAll = async (file: FileHandle, chunks: Buffer[]): Promise<void> => {
  if (chunks.length === 0) return
  const { bytesWritten } = await file.writev(chunks)
  if (bytesWritten === chunks.reduce((sum, { length }) => sum + length, 0)) return
  // A nearly full disk takes only a part; the next write then fails with the reason.
  const rest = Buffer.concat(chunks).subarray(bytesWritten)
  for (let offset = 0; offset < rest.length; ) offset += (await file.write(rest, offset)).bytesWritten
}
