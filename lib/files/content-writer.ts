import { createHash, type Hash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import type { Readable } from 'node:stream'
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
 */
export class ContentWriter {
  readonly #file: FileHandle
  readonly #expected: ExpectedContent
  readonly #sha256 = createHash('sha256')
  readonly #further: readonly (readonly [name: Digest, hash: Hash])[]
  #waiting: Buffer[] = []
  #waitingBytes = 0
  #size = 0
  #written = 0
  /** Undefined when nothing is being written. */
  #writing: Promise<void> | undefined

  constructor(file: FileHandle, expected: ExpectedContent) {
    this.#file = file
    this.#expected = expected
    this.#further = (expected.digests ?? []).map((name) => [name, createHash(name)])
  }

  /**
   * Resolves when the whole content is in the file.
   * @returns its size and digests
   * @throws AllotError too_large, invalid for another content than expected; any error of the stream or the
   * file
   */
  async write(content: Readable): Promise<ContentInfo> {
    for await (const chunk of content.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      this.#size += chunk.length
      checkSize(this.#size, this.#expected)
      this.#add(chunk)
      if (this.#waitingBytes > MAX_WAITING || this.#waiting.length >= MAX_CHUNKS) await this.#writing
    }
    await this.#writing
    return this.#info()
  }

  /** Resolves when the file is used no more. */
  async abandon(): Promise<void> {
    this.#waiting = []
    await this.#writing?.catch(() => undefined)
  }

  #info(): ContentInfo {
    const { size, sha256: expectedSha256 } = this.#expected
    if (size !== undefined && this.#size !== size)
      throw invalid(`the content must have ${size} bytes, got ${this.#size}`)
    const sha256 = this.#sha256.digest('hex')
    if (expectedSha256 !== undefined && sha256 !== expectedSha256)
      throw invalid(`the content must have the SHA-256 ${expectedSha256}, got ${sha256}`)
    const digests = Object.fromEntries(this.#further.map(([name, hash]) => [name, hash.digest('hex')]))
    return { size: this.#size, sha256, digests }
  }

  #add(chunk: Buffer): void {
    this.#waiting.push(chunk)
    this.#waitingBytes += chunk.length
    if (this.#writing === undefined) {
      this.#writing = this.#writeWaiting()
      // `write` throws the error later.
      this.#writing.catch(() => undefined)
    }
    for (const hash of [this.#sha256, ...this.#further.map(([, one]) => one)]) hash.update(chunk)
  }

  async #writeWaiting(): Promise<void> {
    while (this.#waiting.length > 0) {
      const chunks = this.#waiting
      this.#waiting = []
      this.#waitingBytes = 0
      this.#written += await writeAll(this.#file, chunks, this.#written)
    }
    this.#writing = undefined
  }
}

/** @returns bytes of all chunks */
const writeAll = async (file: FileHandle, chunks: Buffer[], position: number): Promise<number> => {
  const size = chunks.reduce((sum, { length }) => sum + length, 0)
  let { bytesWritten: written } = await file.writev(chunks, position)
  if (written === size) return size
  const content = Buffer.concat(chunks)
  while (written < size)
    written += (await file.write(content, written, size - written, position + written)).bytesWritten
  return size
}

/** Called for each chunk: refuses a content that is too large before the rest of it arrives. */
export const checkSize = (size: number, expected: ExpectedContent): void => {
  if (expected.maxSize !== undefined && size > expected.maxSize)
    throw new AllotError('too_large', `a file must not be larger than ${expected.maxSize} bytes`)
  if (expected.size !== undefined && size > expected.size)
    throw invalid(`the content must have ${expected.size} bytes, got more`)
}
