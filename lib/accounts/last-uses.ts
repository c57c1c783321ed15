/**
 * When each access token and each session of the pages was last used. A request only notes the use in memory;
 * a timer writes what was noted, for each of them at most once an hour, whichever process noted it. So the
 * stored time is at most 61 minutes too early, and a crash loses the uses of the last ten seconds.
 */
import { LRUCache } from 'lru-cache'
import { maxEntries } from '../caches.ts'
import { now } from '../clock.ts'
import type { Collection } from '../records/collection.ts'
import { type Session, sessions, type Token, tokens } from '../records/schema/index.ts'
import type { Store } from '../records/store.ts'

/** Seconds between two writes for a record. */
const WRITE_INTERVAL = 3600
const FLUSH_INTERVAL_MS = 10_000
/** Records that one transaction writes. */
const BATCH_SIZE = 100
/** Uses that wait to be written at most; further ones are noted again with the next request. */
const MAX_WAITING = 10_000
const MAX_KNOWN = 20_000

/**
 * Whether a use needs no further write. One that is later than now was noted before the clock was set back.
 */
const isRecent = (noted: number | undefined, at: number): noted is number =>
  noted !== undefined && noted <= at && at - noted < WRITE_INTERVAL

/** @typeParam Id the id of a record, such as the number of a token */
class LastUses<Id extends number | string, R extends { readonly lastUsedAt?: number | undefined }> {
  readonly #store: Store
  readonly #collection: Pick<Collection<R>, 'getMany' | 'save'>
  /** When a use was last noted. */
  readonly #noted = new LRUCache<Id, number>(maxEntries(MAX_KNOWN))
  readonly #waiting = new Map<Id, number>()
  readonly #timer: NodeJS.Timeout
  #flushing: Promise<void> | undefined

  constructor(store: Store, collection: Pick<Collection<R>, 'getMany' | 'save'>) {
    this.#store = store
    this.#collection = collection
    // Not started by a request, whose read transaction the timer would inherit.
    this.#timer = setInterval(() => void this.flush(), FLUSH_INTERVAL_MS).unref()
  }

  /** Notes that a record is used now. It neither reads nor writes the store. */
  note(id: Id): void {
    const at = now()
    if (isRecent(this.#noted.get(id), at) || this.#waiting.size >= MAX_WAITING) return
    this.#noted.set(id, at)
    this.#waiting.set(id, at)
  }

  /** Remembers a use that the record has already. */
  written(id: Id, at: number): void {
    this.#noted.set(id, at)
  }

  /** Writes the noted uses. Those that cannot be written stay noted for the next call. */
  flush(): Promise<void> {
    this.#flushing ??= this.#writeAll().finally(() => {
      this.#flushing = undefined
    })
    return this.#flushing
  }

  /** Ends the timer, and writes what was noted. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.flush()
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.size > 0) {
      const batch = [...this.#waiting].slice(0, BATCH_SIZE)
      const isWritten = await this.#write(batch).catch(() => false)
      if (!isWritten) return
      for (const [id, at] of batch) if (this.#waiting.get(id) === at) this.#waiting.delete(id)
    }
  }

  /**
   * A record that was removed meanwhile is left alone, and so is one whose use was written less than an hour
   * ago.
   */
  #write(batch: readonly (readonly [id: Id, at: number])[]): Promise<boolean> {
    return this.#store.write(async (tx) => {
      const left: [id: Id, writtenAt: number][] = []
      // The next use is noted an hour after the one that was written, which another process may have noted.
      tx.afterCommit(() => {
        for (const [id, writtenAt] of left) this.written(id, writtenAt)
      })
      const found = await this.#collection.getMany(
        tx,
        batch.map(([id]) => [id]),
      )
      for (const [index, [id, at]] of batch.entries()) {
        const record = found[index]
        if (record === undefined) continue
        const { lastUsedAt } = record
        if (isRecent(lastUsedAt, at)) left.push([id, lastUsedAt])
        else await this.#collection.save(tx, { ...record, lastUsedAt: at })
      }
      return true
    })
  }
}

/** By the id of the token. */
export class TokenUses extends LastUses<number, Token> {
  constructor(store: Store) {
    super(store, tokens)
  }
}

/** By the hash of the session. */
export class SessionUses extends LastUses<string, Session> {
  constructor(store: Store) {
    super(store, sessions)
  }
}
