import { createHash, randomUUID } from 'node:crypto'
import { type FileHandle, mkdir, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { AllotError, invalid } from '../errors.ts'

/** What is known of a content before it comes. */
export interface ExpectedContent {
  /** The most bytes that are taken; any number when absent. */
  readonly largest?: number | undefined
  readonly size?: number | undefined
  /** In lower case hexadecimal digits. */
  readonly sha256?: string | undefined
  /** What else is wanted of it. */
  readonly digests?: readonly Digest[]
}

/** Hashes besides the SHA-256, which old clients of registries ask for. */
export type Digest = 'md5' | 'sha1' | 'sha512'

/** What a content is known by. */
export interface ContentInfo {
  /** Bytes */
  readonly size: number
  /** In hexadecimal digits, as those are that were asked for besides it. */
  readonly sha256: string
  readonly digests: Readonly<Partial<Record<Digest, string>>>
}

/** A content that is whole and on the disk, under a name that nobody looks for. */
export interface StagedFile extends ContentInfo {
  readonly path: string
}

export const STAGING_FOLDER = 'arriving'

/**
 * Writes what comes to the disk, a chunk at a time. What is refused leaves nothing, and the stream as it is: the answer
 * may go out by the same connection.
 * @throws AllotError too_large, invalid when it is not what was expected, storage_full; or what the stream fails with
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
    const found = await write(file, content, expected)
    await file.sync()
    return { path, ...found }
  } catch (error) {
    await rm(path, { force: true })
    throw toStorageFull(error)
  } finally {
    await file.close()
  }
}

const write = async (
  file: FileHandle,
  content: Readable,
  expected: ExpectedContent,
): Promise<ContentInfo> => {
  const hash = createHash('sha256')
  const others = (expected.digests ?? []).map((name) => ({ name, hash: createHash(name) }))
  const writing = createWriter(file)
  let size = 0
  for await (const chunk of content.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length
    checkSize(size, expected)
    hash.update(chunk)
    for (const other of others) other.hash.update(chunk)
    await writing.add(chunk)
  }
  await writing.end()
  const sha256 = hash.digest('hex')
  if (expected.size !== undefined && size !== expected.size)
    throw invalid(`the content has ${size} bytes, and not ${expected.size}`)
  if (expected.sha256 !== undefined && sha256 !== expected.sha256)
    throw invalid(`the SHA-256 of the content is ${sha256}, and not ${expected.sha256}`)
  const digests = Object.fromEntries(others.map(({ name, hash }) => [name, hash.digest('hex')]))
  return { size, sha256, digests }
}

/** As soon as it is known: the rest is not waited for. */
const checkSize = (size: number, { largest, size: said }: ExpectedContent): void => {
  if (largest !== undefined && size > largest)
    throw new AllotError('too_large', `a file must not be larger than ${largest} bytes`)
  if (said !== undefined && size > said) throw invalid(`the content has more than ${said} bytes`)
}

const FULL = ['ENOSPC', 'EDQUOT', 'EFBIG']

export const toStorageFull = (error: unknown): unknown =>
  error instanceof Error && FULL.includes((error as NodeJS.ErrnoException).code ?? '')
    ? new AllotError('storage_full', 'the disk is full', { cause: error })
    : error

/** Bytes that are gathered before they are written. */
const GATHERED = 512 * 1024

export interface FileWriter {
  /** Resolves when more may come. */
  add(chunk: Buffer): Promise<void>
  /** Resolves when everything is written. */
  end(): Promise<void>
}

/** Writes to a file in large pieces, each while the next one is gathered: so what is held is bounded. */
export const createWriter = (file: FileHandle): FileWriter => {
  let gathered: Buffer[] = []
  let size = 0
  let written: Promise<void> = Promise.resolve()

  const flush = async () => {
    const chunks = gathered
    gathered = []
    size = 0
    await written
    written = writeAll(file, chunks)
    // Whoever adds or ends hears of it.
    written.catch(() => undefined)
  }

  return {
    async add(chunk) {
      gathered.push(chunk)
      size += chunk.length
      if (size >= GATHERED) await flush()
    },
    async end() {
      await flush()
      await written
    },
  }
}

const writeAll = async (file: FileHandle, chunks: Buffer[]): Promise<void> => {
  if (chunks.length === 0) return
  const { bytesWritten } = await file.writev(chunks)
  // A disk that is nearly full takes a part, and says why with the next one.
  if (bytesWritten === chunks.reduce((sum, { length }) => sum + length, 0)) return
  const rest = Buffer.concat(chunks).subarray(bytesWritten)
  for (let at = 0; at < rest.length; ) at += (await file.write(rest, at)).bytesWritten
}
