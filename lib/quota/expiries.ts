import { dayOf } from '../clock.ts'
import { paced } from '../records/pacing.ts'
import { ledgerEntries } from '../records/schema/index.ts'
import type { Expiring, Store, WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import type { LedgerById } from './ledger.ts'
import type { OwnerCounters } from './usage.ts'

/** Entries that one write removes at most. */
const BATCH = 50
/** Milliseconds after which a removal that failed is tried again. */
const RETRY_MS = 5000
/** A shared store is looked at this often, for what other processes put. */
const SHARED_INTERVAL_MS = 60_000
/** `setTimeout` takes at most 2^31-1. */
const MAX_DELAY_MS = 86_400_000

const NEVER = Number.POSITIVE_INFINITY

/**
 * Removes ledger entries whose time has passed. Invariant: no read of the store sees such an entry, nor usage
 * that counts it, because the store removes what has expired before a read returns (`Store.read`). A timer
 * removes it when nothing is read, so that events come in time. When it cannot be removed, such as on a full
 * disk, it counts until it can.
 */
export class Expiries implements Expiring {
  readonly #store: Store
  readonly #ledger: LedgerById
  readonly #counters: OwnerCounters
  /** When the next entry expires, as far as this process knows; until it has looked, any may have expired. */
  #next = 0
  #removing: Promise<boolean> | undefined
  #timer: NodeJS.Timeout | undefined
  #onError: ((error: unknown) => void) | undefined

  constructor(store: Store, ledger: LedgerById, counters: OwnerCounters) {
    this.#store = store
    this.#ledger = ledger
    this.#counters = counters
    store.expiring = this
  }

  /** Whether something has expired, or is being removed; on a shared store, others may know better. */
  get isDue(): boolean {
    return this.#removing !== undefined || this.#next <= Date.now()
  }

  /** When the next entry expires, in milliseconds since 1970. */
  async next(tx: ReadTransaction): Promise<number> {
    const first = ledgerEntries.entries(tx, 'expiry', { prefix: [], limit: 1 })
    for await (const entry of first) return ledgerEntries.orderOf(entry)[0] as number
    return NEVER
  }

  /** Takes note of an entry, once it is stored. */
  note(expiresAt: number): void {
    this.#next = Math.min(this.#next, expiresAt)
    this.#wait()
  }

  /**
   * Removes what has expired.
   * @returns false when it could not be removed
   */
  remove(): Promise<boolean> {
    this.#removing ??= this.#remove().finally(() => {
      this.#removing = undefined
      this.#wait()
    })
    return this.#removing
  }

  /** Runs a write that decides by usage: only when nothing that has expired is counted. */
  async write<T>(body: (tx: WriteContext) => Promise<T>): Promise<T> {
    for (let isRemovable = true; ; ) {
      const done = await this.#store.write(async (tx) =>
        isRemovable && (await this.#isDueIn(tx)) ? undefined : { value: await body(tx) },
      )
      if (done !== undefined) return done.value
      isRemovable = await this.remove()
    }
  }

  /** Removes entries when they expire, until `stop`. */
  start(onError: (error: unknown) => void): void {
    this.#onError = onError
    this.#wait()
  }

  async stop(): Promise<void> {
    this.#onError = undefined
    clearTimeout(this.#timer)
    await this.#removing
  }

  async #remove(): Promise<boolean> {
    // Entries that are stored meanwhile are noted.
    this.#next = NEVER
    try {
      // A start writes nothing when nothing has expired. `Store.read` would wait for this removal.
      let next = await this.#store.driver.read((tx) => this.next(tx))
      while (next <= Date.now()) next = await this.#store.write((tx) => this.#step(tx))
      this.#next = Math.min(this.#next, next)
      return true
    } catch (error) {
      this.#next = Date.now() + RETRY_MS
      this.#onError?.(error)
      return false
    }
  }

  /**
   * Removes entries that expired on the same day, which is that of the change in the history.
   * @returns when the next entry expires
   */
  async #step(tx: WriteContext): Promise<number> {
    const found = await ledgerEntries.list(tx, 'expiry', { prefix: [], limit: BATCH + 1 })
    const [now, day] = [Date.now(), dayOf(found[0]?.expiresAt ?? 0)]
    for await (const [index, { kind, key, expiresAt = NEVER }] of paced(found.entries())) {
      if (index === BATCH || expiresAt > now || dayOf(expiresAt) !== day) return expiresAt
      if (index === 0) this.#counters.countOn(tx, day)
      await this.#ledger.remove(tx, kind, key)
    }
    return NEVER
  }

  /** Whether something has expired that the transaction still counts, for which a removal has work to do. */
  async #isDueIn(tx: ReadTransaction): Promise<boolean> {
    return (this.#store.driver.shared || this.isDue) && (await this.next(tx)) <= Date.now()
  }

  #wait(): void {
    clearTimeout(this.#timer)
    if (this.#onError === undefined) return
    const { shared } = this.#store.driver
    const next = shared ? Math.min(this.#next, Date.now() + SHARED_INTERVAL_MS) : this.#next
    if (next === NEVER) return
    const delay = Math.min(Math.max(next - Date.now(), 0), MAX_DELAY_MS)
    this.#timer = setTimeout(() => void this.remove(), delay).unref()
  }
}
