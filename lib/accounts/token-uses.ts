/**
 * When each access token was last used. A request only notes the use in memory; a timer writes what was noted, for each token at
 * most once an hour, whichever process noted it. A connection that sends the same token again notes it every 10 minutes. So the
 * stored time is at most 71 minutes too early, and a crash loses the uses of the last ten seconds.
 */
import { LRUCache } from 'lru-cache'
import { maxEntries } from '../caches.ts'
import { now } from '../clock.ts'
import { tokens } from '../records/schema/index.ts'
import type { Store } from '../records/store.ts'

/** Seconds between two writes for a token. */
const WRITE_INTERVAL = 3600
const FLUSH_INTERVAL_MS = 10_000
/** Tokens that one transaction writes. */
const BATCH_SIZE = 100
/** Uses that wait to be written at most; further ones are noted again with the next request of their token. */
const MAX_WAITING = 10_000
const MAX_KNOWN = 20_000

export class TokenUses {
  readonly #store: Store
  /** When a use was last noted, by the id of the token. */
  readonly #noted = new LRUCache<number, number>(maxEntries(MAX_KNOWN))
  /** Ids of tokens that have been valid, by their hash; for responses that are served without looking at the token. */
  readonly #ids = new LRUCache<string, number>(maxEntries(MAX_KNOWN))
  readonly #waiting = new Map<number, number>()
  readonly #timer: NodeJS.Timeout
  #flushing: Promise<void> | undefined

  constructor(store: Store) {
    this.#store = store
    // Not started by a request, whose read transaction the timer would inherit.
    this.#timer = setInterval(() => void this.flush(), FLUSH_INTERVAL_MS).unref()
  }

  /**
   * Notes that a token is used now. It neither reads nor writes the store.
   * @param hash lets {@link noteAgain} find the token
   */
  note(token: number, hash?: string): void {
    if (hash !== undefined) this.#ids.set(hash, token)
    const at = now()
    if (at - (this.#noted.get(token) ?? 0) < WRITE_INTERVAL || this.#waiting.size >= MAX_WAITING) return
    this.#noted.set(token, at)
    this.#waiting.set(token, at)
  }

  /** Notes the use of a token by its hash; does nothing for a token that has not been valid in this process. */
  noteAgain(hash: string): void {
    const token = this.#ids.get(hash)
    if (token !== undefined) this.note(token)
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
      for (const [token, at] of batch) if (this.#waiting.get(token) === at) this.#waiting.delete(token)
    }
  }

  /** A token that was revoked meanwhile is left alone, and so is one whose use was written less than an hour ago. */
  #write(batch: readonly (readonly [token: number, at: number])[]): Promise<boolean> {
    return this.#store.write(async (tx) => {
      const left: [token: number, writtenAt: number][] = []
      // The next use is noted an hour after the one that was written, which another process may have noted.
      tx.afterCommit(() => {
        for (const [token, writtenAt] of left) this.#noted.set(token, writtenAt)
      })
      const found = await tokens.namedBy(tx, batch, ([token]) => token)
      for (const [id, at] of batch) {
        const token = found.get(id)
        if (token === undefined) continue
        const { lastUsedAt = 0 } = token
        if (at - lastUsedAt < WRITE_INTERVAL) left.push([id, lastUsedAt])
        else await tokens.save(tx, { ...token, lastUsedAt: at })
      }
      return true
    })
  }
}
