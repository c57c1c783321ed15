import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { AllotError, invalid } from '../errors.ts'
import type { Algorithm, FileHash, HashThreads } from './hashing.ts'

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
type Digest = Exclude<Algorithm, 'sha256'>

/** Size and hashes of a content, once it was read. */
export interface ContentInfo {
  /** Bytes. */
  readonly size: number
  /** Lower-case hexadecimal digits, as in `digests`. */
  readonly sha256: string
  readonly digests: Readonly<Partial<Record<Digest, string>>>
}

/** Bytes that wait in memory while others are being written; more stop the stream. */
const MAX_WAITING = 512 * 1024
/**
 * Chunks that wait at most, and that are kept of a small content before they are merged: each takes memory
 * besides its bytes.
 */
const MAX_CHUNKS = 256
/**
 * Contents up to this size are hashed where they arrive: that takes less time than passing them to a thread.
 */
const MAX_HASHED_HERE = 128 * 1024
/** Bytes that may be written and not hashed. */
const MAX_UNHASHED = 16 * 1024 * 1024

/**
 * Writes a stream to a file that is open for reading and writing. What arrives during a write is written at
 * once afterwards.
 */
export class ContentWriter {
  readonly #file: FileHandle
  readonly #expected: ExpectedContent
  readonly #threads: HashThreads
  readonly #algorithms: readonly Algorithm[]
  #waiting: Buffer[] = []
  #waitingBytes = 0
  #size = 0
  #written = 0
  /** Undefined when nothing is being written. */
  #writing: Promise<void> | undefined
  /** The content as long as it is small; a thread hashes a larger one. */
  #small: Buffer[] | undefined = []
  #hash: FileHash | undefined

  constructor(file: FileHandle, expected: ExpectedContent, threads: HashThreads) {
    this.#file = file
    this.#expected = expected
    this.#threads = threads
    this.#algorithms = ['sha256', ...(expected.digests ?? [])]
  }

  /**
   * Resolves when the whole content is in the file.
   * @throws AllotError too_large, invalid for a content with more or fewer bytes than expected; any error of
   * the stream or the file
   */
  async write(content: Readable): Promise<void> {
    for await (const chunk of content.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      this.#size += chunk.length
      checkSize(this.#size, this.#expected)
      this.#add(chunk)
      if (this.#waitingBytes > MAX_WAITING || this.#waiting.length >= MAX_CHUNKS) await this.#writing
    }
    await this.#writing
    const { size } = this.#expected
    if (size !== undefined && this.#size !== size)
      throw invalid(`the content must have ${size} bytes, got ${this.#size}`)
  }

  /**
   * Size and hashes, after `write`.
   * @throws AllotError invalid when the SHA-256 differs from the expected one
   */
  async info(): Promise<ContentInfo> {
    const [sha256, ...others] = (await this.#digests()) as [string, ...string[]]
    const { sha256: expectedSha256, digests = [] } = this.#expected
    if (expectedSha256 !== undefined && sha256 !== expectedSha256)
      throw invalid(`the content must have the SHA-256 ${expectedSha256}, got ${sha256}`)
    const named = digests.map((name, index) => [name, others[index]])
    return { size: this.#size, sha256, digests: Object.fromEntries(named) }
  }

  /** Resolves when the file is used no more. */
  async abandon(): Promise<void> {
    this.#waiting = []
    await this.#writing?.catch(() => undefined)
    await this.#hash?.abandon()
  }

  #add(chunk: Buffer): void {
    this.#waiting.push(chunk)
    this.#waitingBytes += chunk.length
    if (this.#size <= MAX_HASHED_HERE) this.#keepSmall(chunk)
    else if (this.#small !== undefined) {
      this.#small = undefined
      this.#hash = this.#threads.begin(this.#file.fd, this.#algorithms)
    }
    if (this.#writing !== undefined) return
    this.#writing = this.#writeWaiting()
    // `write` throws the error later.
    this.#writing.catch(() => undefined)
  }

  #keepSmall(chunk: Buffer): void {
    this.#small?.push(chunk)
    if (this.#small?.length === MAX_CHUNKS) this.#small = [Buffer.concat(this.#small)]
  }

  async #writeWaiting(): Promise<void> {
    while (this.#waiting.length > 0) {
      const chunks = this.#waiting
      this.#waiting = []
      this.#waitingBytes = 0
      this.#written += await writeAll(this.#file, chunks, this.#written)
      this.#hash?.advance(this.#written)
      await this.#hash?.catchUp(MAX_UNHASHED)
    }
    this.#writing = undefined
  }

  async #digests(): Promise<string[]> {
    const hash = this.#hash
    this.#hash = undefined
    if (hash !== undefined) return hash.finish()
    const content = Buffer.concat(this.#small ?? [])
    return this.#algorithms.map((name) => createHash(name).update(content).digest('hex'))
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
