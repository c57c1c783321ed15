/**
 * The scans over all owners for the pages of administrators. A page must not wait for a scan: on a large
 * instance it gets figures that are some seconds old, and the scan runs beside the requests, in small steps,
 * a small part of the time.
 */
import { setTimeout } from 'node:timers/promises'
import { AllotError } from '../../errors.ts'
import type { QuotaEngine } from '../../quota/index.ts'
import { paced } from '../../records/pacing.ts'
import { accounts } from '../../records/schema/index.ts'
import type { Store } from '../../records/store.ts'
import { type OwnerSummary, OwnersSnapshot, summaryOf } from './owners-snapshot.ts'

/** Up to this many owners, every page reads them again; fewer on a shared store. */
const SMALL_INSTANCE = 1000
const SMALL_SHARED_INSTANCE = 100
/** Least age of the figures, in milliseconds, before a large instance is scanned again. */
const MIN_AGE_MS = 5000
/** Figures are shown this many times as long as their scan took, so scans take at most 5 % of the time. */
const AGE_PER_SCAN = 20
/** Milliseconds for which a page after a change, or a file, waits for a scan. */
const MAX_WAIT_MS = 10_000

interface Scan {
  /** Number of changes before it. */
  readonly changes: number
  readonly result: Promise<OwnersSnapshot>
}

interface Known extends Omit<Scan, 'result'> {
  readonly snapshot: OwnersSnapshot
  /** `Store.writes` before the scan. */
  readonly writes: number
  /** Milliseconds since 1970 after which the figures are too old. */
  readonly expiresAt: number
}

export class OwnerTable {
  readonly #store: Store
  readonly #quota: QuotaEngine
  #known: Known | undefined
  #scan: Scan | undefined
  #changes = 0

  constructor(store: Store, quota: QuotaEngine) {
    this.#store = store
    this.#quota = quota
  }

  /** Makes the next page wait for new figures, after a change that an administrator made on a page. */
  changed(): void {
    this.#changes++
  }

  /**
   * The owners now; on a large instance as they were some seconds ago, but not before {@link changed}.
   * @param warnAt share of a limit, between 0 and 1, from which an owner is near it
   * @returns undefined during the first scan over a large instance
   */
  async snapshot(warnAt: number): Promise<OwnersSnapshot | undefined> {
    const { shared } = this.#store.driver
    const size = await this.#store.read(async (tx) => {
      const ofKind = ['user', 'organization'].map((kind) => accounts.count(tx, 'kind', [kind]))
      return (await Promise.all(ofKind)).reduce((sum, count) => sum + count)
    })
    const isLarge = size > (shared ? SMALL_SHARED_INSTANCE : SMALL_INSTANCE)
    const known = this.#known
    const isCurrent = known?.changes === this.#changes
    const isSame = !shared && known?.writes === this.#store.writes
    if (isCurrent && (isSame || (isLarge && Date.now() < known.expiresAt))) return known.snapshot
    const scan = this.#startScan(warnAt)
    if (isLarge && (isCurrent || known === undefined)) return known?.snapshot
    return withinTime(scan, known?.snapshot)
  }

  /**
   * The same for the CSV download, which waits for the first scan.
   * @throws AllotError unavailable when that takes too long
   */
  async wholeSnapshot(warnAt: number): Promise<OwnersSnapshot> {
    return (await this.snapshot(warnAt)) ?? withinTime(this.#startScan(warnAt), this.#known?.snapshot)
  }

  #startScan(warnAt: number): Promise<OwnersSnapshot> {
    const changes = this.#changes
    if (this.#scan?.changes !== changes) {
      const result = this.#read(warnAt, changes).finally(() => {
        if (this.#scan?.changes === changes) this.#scan = undefined
      })
      // The next request gets the new figures; a failure is reported to the request that has none.
      result.catch(() => undefined)
      this.#scan = { changes, result }
    }
    return this.#scan.result
  }

  async #read(warnAt: number, changes: number): Promise<OwnersSnapshot> {
    const { writes } = this.#store
    const begun = Date.now()
    const owners = await this.#store.readAlone(async (tx) => {
      const found: OwnerSummary[] = []
      const quotas = await this.#quota.reports.ownerQuotas(tx)
      try {
        for await (const account of paced(accounts.all(tx))) {
          const { usage, groups } = await quotas.of(account.id)
          found.push(summaryOf(account, usage, groups, warnAt))
        }
      } finally {
        await quotas.end()
      }
      return found
    })
    const snapshot = new OwnersSnapshot(owners, warnAt)
    const expiresAt = Date.now() + Math.max(MIN_AGE_MS, AGE_PER_SCAN * (Date.now() - begun))
    if (changes >= (this.#known?.changes ?? 0)) this.#known = { snapshot, writes, changes, expiresAt }
    return snapshot
  }
}

/** The scan, or the previous figures when it takes too long. */
const withinTime = async (
  scan: Promise<OwnersSnapshot>,
  known: OwnersSnapshot | undefined,
): Promise<OwnersSnapshot> => {
  const waiting = new AbortController()
  const late = setTimeout(MAX_WAIT_MS, undefined, { ref: false, signal: waiting.signal }).catch(
    () => undefined,
  )
  const found = (await Promise.race([scan, late]).finally(() => waiting.abort())) ?? known
  if (found !== undefined) return found
  throw new AllotError('unavailable', 'the owners are being read: open the page again in a few seconds', {
    retryAfter: 5,
  })
}
