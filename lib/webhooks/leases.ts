import { randomUUID } from 'node:crypto'
import { hookLeases } from '../records/schema/index.ts'
import type { Store } from '../records/store.ts'

/** Beyond the end of a lease another process sends, so this much longer than a delivery takes; clocks may differ a little. */
const MARGIN_MS = 30_000

/**
 * Which process of a shared store sends to a webhook: otherwise two of them could send its deliveries in another order, and
 * each twice. A lease is renewed while deliveries go on, and ends by itself when its process was killed.
 */
export class Leases {
  readonly #store: Store
  readonly #durationMs: number
  readonly #holder = randomUUID()
  /** Leases of this process, with the time until which they need no renewal. */
  readonly #held = new Map<number, number>()

  /** @param timeoutMs within which one delivery ends */
  constructor(store: Store, timeoutMs: number) {
    this.#store = store
    this.#durationMs = 2 * timeoutMs + MARGIN_MS
  }

  /** Whether this process may send to the webhook until a delivery that begins now has ended. */
  async hold(hook: number): Promise<boolean> {
    if (!this.#store.driver.shared || (this.#held.get(hook) ?? 0) > Date.now()) return true
    const isHeld = await this.#store.write(async (tx) => {
      const lease = await hookLeases.get(tx, [hook])
      if (lease !== undefined && lease.holder !== this.#holder && lease.until > Date.now()) return false
      await hookLeases.save(tx, { hook, holder: this.#holder, until: Date.now() + this.#durationMs })
      return true
    })
    if (isHeld) this.#held.set(hook, Date.now() + this.#durationMs / 2 - MARGIN_MS / 2)
    else this.#held.delete(hook)
    return isHeld
  }

  /** Lets other processes send at once. */
  async end(hook: number): Promise<void> {
    if (!this.#held.delete(hook)) return
    await this.#store.write(async (tx) => {
      if ((await hookLeases.get(tx, [hook]))?.holder === this.#holder) await hookLeases.remove(tx, [hook])
    })
  }
}
