import type { AbstractSnapshot } from 'abstract-level'
import type { Bytes } from '../../lib/storage/index.ts'

export interface SnapshotOption {
  snapshot?: AbstractSnapshot
}

/** What reads keys, in the main thread or in the thread pool. */
export interface Readable {
  getSync(key: Bytes, options: SnapshotOption): Bytes | undefined
  getMany(keys: Bytes[], options: SnapshotOption): Promise<(Bytes | undefined)[]>
}

/**
 * Up to this many keys are read synchronously: reading a cached key takes microseconds, a tenth of the time
 * of a trip through the thread pool. Reading more keys would block the event loop.
 */
const MAX_SYNC_READS = 16

/**
 * A synchronous read of as many milliseconds has waited for the disk, if the process has read the disk: else
 * it has waited for its turn on the processor.
 */
const SLOW_MS = 2

/**
 * How long after such a read keys are read in the thread pool, unless they were so before. There, too, a read
 * that waits for the disk begins this time again, so a store stays cold as long as it is, and not longer.
 */
const HOLD_MS = 2000

/** Disk reads of the process as many milliseconds before a read, such as of other files, are not its own. */
const SAMPLE_MS = 100

/**
 * Keys that are remembered, in 2^23 bits (1 MiB), before all are forgotten: of the others, less than 6 % seem
 * to be remembered. Their blocks are in the memory of the system, if it has that much.
 */
const MAX_RECENT = 2 ** 19

/**
 * Reads keys, mostly in the main thread. A store that is larger than the memory, or was just opened, has to
 * read the disk for some: the first of them blocks the event loop, and those that follow do not.
 */
export class PointReads {
  readonly #database: Readable
  /** A bit for each hash of a key that was read in the thread pool. */
  readonly #recent = new Uint8Array(2 ** 20)
  #recentCount = 0
  #isColdUntil = Number.NEGATIVE_INFINITY
  #diskReads = 0
  #sampledAt = Number.NEGATIVE_INFINITY

  constructor(database: Readable) {
    this.#database = database
  }

  async get(key: Bytes, options: SnapshotOption): Promise<Bytes | undefined> {
    const begun = this.#begin()
    const diskReads = this.#diskReads
    if (begun < this.#isColdUntil && !this.#isRecent(key)) {
      const [value] = await this.#database.getMany([key], options)
      this.#note(key)
      this.#noteTime(begun, diskReads)
      return value
    }
    const value = this.#database.getSync(key, options)
    this.#noteTime(begun, diskReads)
    return value
  }

  async getMany(keys: readonly Bytes[], options: SnapshotOption): Promise<(Bytes | undefined)[]> {
    const begun = this.#begin()
    const diskReads = this.#diskReads
    const isCold = begun < this.#isColdUntil && !keys.every((key) => this.#isRecent(key))
    if (isCold || keys.length > MAX_SYNC_READS) {
      const values = await this.#database.getMany([...keys], options)
      if (!isCold) return values
      for (const key of keys) this.#note(key)
      this.#noteTime(begun, diskReads)
      return values
    }
    const values = keys.map((key) => this.#database.getSync(key, options))
    this.#noteTime(begun, diskReads)
    return values
  }

  /** The time at which a read begins. */
  #begin(): number {
    const now = performance.now()
    if (now - this.#sampledAt >= SAMPLE_MS) this.#sample(now)
    return now
  }

  /** @param diskReads of the process when the read began: other reads may have begun since, and sampled */
  #noteTime(begun: number, diskReads: number): void {
    const now = performance.now()
    if (now - begun < SLOW_MS) return
    this.#sample(now)
    if (this.#diskReads > diskReads) this.#isColdUntil = now + HOLD_MS
  }

  #sample(now: number): void {
    this.#diskReads = process.resourceUsage().fsRead
    this.#sampledAt = now
  }

  #isRecent(key: Bytes): boolean {
    const hash = hashOf(key)
    return (this.#recent[hash >>> 3]! & (1 << (hash & 7))) !== 0
  }

  #note(key: Bytes): void {
    if (this.#recentCount++ === MAX_RECENT) {
      this.#recent.fill(0)
      this.#recentCount = 0
    }
    const hash = hashOf(key)
    this.#recent[hash >>> 3]! |= 1 << (hash & 7)
  }
}

/** FNV-1a, in 23 bits. Where two keys have the same hash, one may be read in the main thread too early. */
const hashOf = (key: Bytes): number => {
  let hash = 0x811c9dc5
  for (let at = 0; at < key.length; at++) hash = Math.imul(hash ^ key[at]!, 0x01000193)
  return hash >>> 9
}
