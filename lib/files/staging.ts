import { createHash, randomUUID } from 'node:crypto'
import { type FileHandle, mkdir, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { AllotError, invalid } from '../errors.ts'

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
