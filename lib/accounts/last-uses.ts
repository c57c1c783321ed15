/**
 * When each access token and each session of the pages was last used. A request only notes the use in memory;
 * a timer writes what was noted, for each of them at most once an hour, whichever process noted it. So the
 * stored time is at most 61 minutes too early, and a crash loses the uses of the last ten seconds.
 */
import { LRUCache } from 'lru-cache'
import { maxEntries } from '../caches.ts'
import { now } from '../clock.ts'
import type { Collection } from '../records/collection.ts'
import type { Store } from '../records/store.ts'

/** Seconds between two writes for a record. */
const WRITE_INTERVAL = 3600
const FLUSH_INTERVAL_MS = 10_000
/** Uses that one transaction writes at most. */
const MAX_BATCH = 500
/** Uses that wait at most; further ones are noted again with the next request. */
const MAX_WAITING = 10_000
const MAX_KNOWN = 20_000

/**
 * Whether a use needs no further write. One that is later than now was noted before the clock was set back.
 */
const isRecent = (noted: number | undefined, at: number): noted is number =>
  noted !== undefined && noted <= at && at - noted < WRITE_INTERVAL

type Used = { readonly lastUsedAt?: number | undefined }

/** @typeParam Id the id of a record, such as the number of a token */
export class LastUses<Id extends number | string> {
  readonly #store: Store
  readonly #collection: Pick<Collection<Used>, 'getMany' | 'save'>
  /** When a use was last noted. */
  readonly #noted = new LRUCache<Id, number>(maxEntries(MAX_KNOWN))
  readonly #waiting = new Map<Id, number>()
  #timer: NodeJS.Timeout | undefined
  #flushing: Promise<void> | undefined

  constructor(store: Store, collection: Pick<Collection<Used>, 'getMany' | 'save'>) {
    this.#store = store
    this.#collection = collection
  }

  /** Notes that a record is used now. It neither reads nor writes the store. */
  note(id: Id): void {
    const at = now()
    if (isRecent(this.#noted.get(id), at) || this.#waiting.size >= MAX_WAITING) return
    this.#noted.set(id, at)
    this.#waiting.set(id, at)
    this.#timer ??= setInterval(() => void this.flush(), FLUSH_INTERVAL_MS).unref()
  }

  /** Writes the noted uses. Those that cannot be written stay noted for the next call. */
  flush(): Promise<void> {
    this.#flushing ??= this.#write()
      .catch(() => undefined)
      .finally(() => {
        this.#flushing = undefined
      })
    return this.#flushing
  }

  /** Ends the timer, and writes what was noted. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    // A write that is under way may have begun before the last use.
    await this.#flushing
    await this.flush()
  }

  async #write(): Promise<void> {
    while (this.#waiting.size > 0) await this.#writeBatch([...this.#waiting].slice(0, MAX_BATCH))
  }

  /**
   * A record that was removed meanwhile is left alone, and so is one whose use was written less than an hour
   * ago: its next use is noted an hour after that one, which another process may have noted.
   */
  async #writeBatch(batch: readonly (readonly [id: Id, at: number])[]): Promise<void> {
    const ids = batch.map(([id]) => [id])
    const written = await this.#store.write(async (tx) => {
      const found = await this.#collection.getMany(tx, ids)
      for (const [index, [, at]] of batch.entries()) {
        const record = found[index]
        if (record !== undefined && !isRecent(record.lastUsedAt, at))
          await this.#collection.save(tx, { ...record, lastUsedAt: at })
      }
      return found
    })
    for (const [index, [id, at]] of batch.entries()) {
      const before = written[index]?.lastUsedAt
      if (isRecent(before, at)) this.#noted.set(id, before)
      this.#waiting.delete(id)
    }
  }
}
