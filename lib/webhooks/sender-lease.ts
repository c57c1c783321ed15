import { randomUUID } from 'node:crypto'
import { hookLeases } from '../records/schema/index.ts'
import type { Store } from '../records/store.ts'

const TASK = 'send'
/** How much longer than two deliveries a lease lasts; it covers clocks that differ. */
const MARGIN_MS = 30_000

/**
 * Which process of a shared store sends: two of them could send the deliveries of a webhook in another order,
 * and each twice. The lease is renewed while its process runs, and ends by itself when that was killed.
 */
export class SenderLease {
  readonly #store: Store
  readonly #timeoutMs: number
  readonly #durationMs: number
  readonly #holder = randomUUID()
  #until = 0

  /** @param timeoutMs within which one delivery ends */
  constructor(store: Store, timeoutMs: number) {
    this.#store = store
    this.#timeoutMs = timeoutMs
    this.#durationMs = 2 * timeoutMs + MARGIN_MS
  }

  /** Whether this process may begin a delivery, which then ends before another process may send. */
  isHeld(): boolean {
    return !this.#store.driver.shared || this.#until - Date.now() > this.#timeoutMs + MARGIN_MS / 2
  }

  /**
   * Takes or renews the lease.
   * @returns false while another process has it
   */
  async hold(): Promise<boolean> {
    if (!this.#store.driver.shared || this.#until - Date.now() > 0.75 * this.#durationMs) return true
    if (!(await this.#store.read((tx) => this.#isFree(tx)))) return false
    this.#until = await this.#store.write(async (tx) => {
      const until = Date.now() + this.#durationMs
      if (!(await this.#isFree(tx))) return 0
      await hookLeases.save(tx, { task: TASK, holder: this.#holder, until })
      return until
    })
    return this.isHeld()
  }

  /** Lets another process send at once. */
  async end(): Promise<void> {
    if (this.#until === 0) return
    this.#until = 0
    await this.#store.write(async (tx) => {
      if ((await hookLeases.get(tx, [TASK]))?.holder === this.#holder) await hookLeases.remove(tx, [TASK])
    })
  }

  async #isFree(tx: Parameters<Parameters<Store['read']>[0]>[0]): Promise<boolean> {
    const lease = await hookLeases.get(tx, [TASK])
    return lease === undefined || lease.holder === this.#holder || lease.until <= Date.now()
  }
}
