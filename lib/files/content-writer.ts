import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { AllotError, invalid } from '../errors.ts'

/** Digests that old clients ask for, besides SHA-256. */
export type Digest = 'md5' | 'sha1' | 'sha512'

/** Properties of a content that are known before its bytes arrive, and what to compute of them. */
export interface ExpectedContent {
  /** Limit in bytes; without it there is none. */
  readonly maxSize?: number | undefined
  readonly size?: number | undefined
  /** Lower-case hexadecimal digits. */
  readonly sha256?: string | undefined
  /** Further digests to compute. */
  readonly digests?: readonly Digest[]
}

/** Size and digests of a content, once it was read. */
export interface ContentInfo {
  /** Bytes. */
  readonly size: number
  /** Lower-case hexadecimal digits. */
  readonly sha256: string
  /** Those that were asked for, in lower-case hexadecimal digits. */
  readonly digests: Readonly<Partial<Record<Digest, string>>>
}

/** Bytes that wait in memory while others are being written; more stop the stream. */
const MAX_WAITING = 512 * 1024
/** Chunks that wait at most: each takes memory besides its bytes. */
const MAX_CHUNKS = 256

/**
 * Writes a stream to a file. What arrives during a write is hashed meanwhile, and written at once afterwards.
 * The file is used no more when this settles.
 * @returns size and digests of the content
 * @throws AllotError too_large, invalid for another content than expected; any error of the stream or the
 * file
 */
export const writeContent = async (
  file: FileHandle,
  content: Readable,
  expected: ExpectedContent,
): Promise<ContentInfo> => {
  const { digests: further = [] } = expected
  const hashes = (['sha256', ...further] as const).map((name) => [name, createHash(name)] as const)
  // Without the handle, which could not be closed before this stream is; and its end closes the file.
  const target = createWriteStream('', { fd: file.fd, autoClose: false, highWaterMark: MAX_WAITING })
  const written = finished(target)
  written.catch(() => undefined)
  let [size, chunks] = [0, 0]
  try {
    for await (const chunk of content.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      size += chunk.length
      checkSize(size, expected)
      const stored = new Promise((resolve) => target.write(chunk, resolve))
      for (const [, hash] of hashes) hash.update(chunk)
      if (target.writableNeedDrain || ++chunks % MAX_CHUNKS === 0) await Promise.race([stored, written])
    }
    target.end()
    await written
  } catch (error) {
    target.end()
    await written.catch(() => undefined)
    throw error
  }
  const { sha256 = '', ...digests } = Object.fromEntries(
    hashes.map(([name, hash]) => [name, hash.digest('hex')]),
  )
  checkContent({ size, sha256 }, expected)
  return { size, sha256, digests }
}

/** @throws AllotError invalid for another content than expected */
const checkContent = (
  { size, sha256 }: Pick<ContentInfo, 'size' | 'sha256'>,
  expected: ExpectedContent,
): void => {
  if (expected.size !== undefined && size !== expected.size)
    throw invalid(`the content must have ${expected.size} bytes, got ${size}`)
  if (expected.sha256 !== undefined && sha256 !== expected.sha256)
    throw invalid(`the content must have the SHA-256 ${expected.sha256}, got ${sha256}`)
}

/** Called for each chunk: refuses a content that is too large before the rest of it arrives. */
export const checkSize = (size: number, expected: ExpectedContent): void => {
  if (expected.maxSize !== undefined && size > expected.maxSize)
    throw new AllotError('too_large', `a file must not be larger than ${expected.maxSize} bytes`)
  if (expected.size !== undefined && size > expected.size)
    throw invalid(`the content must have ${expected.size} bytes, got more`)
}
