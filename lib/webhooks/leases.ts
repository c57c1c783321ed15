import { randomUUID } from 'node:crypto'
import { hookLeases } from '../records/schema/index.ts'
import type { Store } from '../records/store.ts'

/**
 * A lease outlasts the longest delivery by this much, since another process sends once it has ended; it also
 * covers clocks that differ.
 */
const MARGIN_MS = 30_000
/**
 * Pause before the lease of another process is looked at again; it doubles, since most leases end after a
 * moment.
 */
const RETRY_MS = { first: 250, last: 20_000 }

/**
 * Which process of a shared store sends to a webhook: otherwise two of them could send its deliveries in
 * another order, and each twice. A lease is renewed while deliveries go on, and ends by itself when its
 * process was killed.
 */
export class Leases {
  readonly #store: Store
  readonly #durationMs: number
  readonly #holder = randomUUID()
  /** Leases of this process, with the time until which they need no renewal. */
  readonly #held = new Map<number, number>()
  /** Pauses for the leases of other processes. */
  readonly #pauses = new Map<number, number>()

  /** @param timeoutMs within which one delivery ends */
  constructor(store: Store, timeoutMs: number) {
    this.#store = store
    this.#durationMs = 2 * timeoutMs + MARGIN_MS
  }

  /** Whether this process may send to a webhook, for long enough that the lease needs no renewal. */
  isHeld(hook: number): boolean {
    return !this.#store.driver.shared || (this.#held.get(hook) ?? 0) > Date.now()
  }

  /**
   * Takes or renews the lease of a webhook: this process may send to it until a delivery that begins now has
   * ended.
   * @returns 0, or the milliseconds to wait since another process has the lease
   */
  async hold(hook: number): Promise<number> {
    if (this.isHeld(hook)) return 0
    const remainingMs = await this.#store.write(async (tx) => {
      const lease = await hookLeases.get(tx, [hook])
      if (lease !== undefined && lease.holder !== this.#holder && lease.until > Date.now())
        return lease.until - Date.now()
      await hookLeases.save(tx, { hook, holder: this.#holder, until: Date.now() + this.#durationMs })
      return 0
    })
    if (remainingMs > 0) return this.#pauseFor(hook, remainingMs)
    this.#pauses.delete(hook)
    this.#held.set(hook, Date.now() + this.#durationMs / 2 - MARGIN_MS / 2)
    return 0
  }

  #pauseFor(hook: number, remainingMs: number): number {
    this.#held.delete(hook)
    const pauseMs = this.#pauses.get(hook) ?? RETRY_MS.first
    this.#pauses.set(hook, Math.min(2 * pauseMs, RETRY_MS.last))
    return Math.min(pauseMs, remainingMs + 1)
  }

  /** Lets other processes send at once. */
  async end(hook: number): Promise<void> {
    this.#pauses.delete(hook)
    if (!this.#held.delete(hook)) return
    await this.#store.write(async (tx) => {
      if ((await hookLeases.get(tx, [hook]))?.holder === this.#holder) await hookLeases.remove(tx, [hook])
    })
  }

  /**
   * Ends all leases of this process.
   * @param onError told of each lease that could not be ended, with the id of its webhook
   */
  async endAll(onError: (error: unknown, fields: { hook: number }) => void): Promise<void> {
    const held = [...this.#held.keys()]
    await Promise.all(held.map((hook) => this.end(hook).catch((error) => onError(error, { hook }))))
  }
}
