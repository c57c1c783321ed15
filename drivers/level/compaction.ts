import type { Bytes } from '../../lib/storage/index.ts'

/** Of a place whose entries are deleted one after the other: so many bytes are what their keys have in common. */
const PLACE = 24
/** Deletions that are not worth it. */
const FEW = 20_000
/** Places that are looked after at a time. */
const MAX = 1000

/**
 * LevelDB goes on looking over what was deleted until it happens to write those files anew: milliseconds for thousands
 * of entries, each time that a range comes by there. Where much was deleted it is told to write them now, once no more
 * follows.
 */
export class Compaction {
  readonly #compact: (start: Bytes, end: Bytes) => Promise<void>
  readonly #deleted = new Map<string, number>()
  #running = Promise.resolve()
  #isStopping = false

  /** @param compact writes everything between two keys anew; one such work is under way at a time. */
  constructor(compact: (start: Bytes, end: Bytes) => Promise<void>) {
    this.#compact = compact
  }

  /** Told of what a batch has written. */
  note(changes: Iterable<readonly [Bytes, Bytes | undefined]>): void {
    const touched = new Set<string>()
    for (const [key, value] of changes) {
      if (value !== undefined) continue
      const place = Buffer.from(key.buffer, key.byteOffset, Math.min(key.byteLength, PLACE)).toString(
        'latin1',
      )
      touched.add(place)
      this.#deleted.set(place, (this.#deleted.get(place) ?? 0) + 1)
    }
    for (const [place, deleted] of this.#deleted) {
      if (touched.has(place)) continue
      if (deleted >= FEW) this.#begin(place)
      if (deleted >= FEW || this.#deleted.size > MAX) this.#deleted.delete(place)
    }
  }

  /** Resolves when what is under way is done; nothing is begun any more. */
  stop(): Promise<void> {
    this.#isStopping = true
    return this.#running
  }

  #begin(place: string): void {
    const start = Buffer.from(place, 'latin1')
    const end = Buffer.concat([start, Buffer.alloc(PLACE, 0xff)])
    // What goes wrong with the database shows in every write.
    this.#running = this.#running
      .then(() => (this.#isStopping ? undefined : this.#compact(start, end)))
      .catch(() => undefined)
  }
}
