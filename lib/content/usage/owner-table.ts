/**
 * All owners with their usage, limits and groups, for the pages of administrators, which sort, filter and count all of them.
 * A page must not wait for a scan over the owners: on a large instance it gets figures that are some seconds old, and the
 * scan runs beside the requests, in small steps, a small part of the time. Sorted lists are made once for each scan.
 */
import { setTimeout } from 'node:timers/promises'
import { deferred } from '../../deferred.ts'
import { AllotError } from '../../errors.ts'
import type { Sum } from '../../integers.ts'
import {
  bindingLimits,
  type Compared,
  compareLimits,
  distinctSubjects,
  type LimitLevel,
  type QuotaGroup,
  type SubjectLimit,
} from '../../quota/evaluate.ts'
import type { QuotaEngine } from '../../quota/index.ts'
import { noUsage, type Subject, type Usage, usedBy } from '../../quota/subjects.ts'
import { addDelta } from '../../quota/usage.ts'
import { paced } from '../../records/pacing.ts'
import { type Account, accounts } from '../../records/schema/index.ts'
import type { Store } from '../../records/store.ts'
import { foldCase } from '../../search/index.ts'
import { growthIn, type InstanceHistory } from './instance-history.ts'

export interface OwnerSummary {
  readonly id: number
  readonly name: string
  readonly fullName: string
  readonly kind: Account['kind']
  readonly active: boolean
  readonly admin: boolean
  readonly usage: Usage
  /** Bytes of everything. */
  readonly used: Sum
  /** The limit that the owner is over, or else near, or else has used most of; undefined without a limit. */
  readonly binding: Compared<SubjectLimit> | undefined
  readonly state: LimitLevel | 'unlimited'
  /** Share of the binding limit that is used; more than 1 when the owner is over. */
  readonly share: number
  /** Groups that apply. */
  readonly groups: readonly QuotaGroup[]
  /** Name and full name in lower case, to search in. */
  readonly text: string
}

export type OwnerOrder = 'name' | 'used' | 'share' | 'growth'

type Rank = (owner: OwnerSummary, history?: InstanceHistory) => number
/** What owners are compared by, largest first. */
const RANKS: Record<Exclude<OwnerOrder, 'name'>, Rank> = {
  used: ({ used }) => Number(used),
  share: ({ share }) => share,
  growth: (owner, history) => Number((history && growthIn(history, owner)) ?? 0),
}

/** Subjects whose limits are kept for one scan: each needs a record of every owner. */
const MAX_SUBJECTS = 3

type OwnerCounts = Readonly<Record<OwnerSummary['state'] | Account['kind'], number>>

const countsOf = (owners: readonly OwnerSummary[]): OwnerCounts => {
  const counts = { over: 0, near: 0, within: 0, unlimited: 0, user: 0, organization: 0 }
  for (const { state, kind } of owners) {
    counts[state]++
    counts[kind]++
  }
  return counts
}

/** The owners as one scan found them. */
export class OwnersSnapshot {
  /** The owners in the order of their names. */
  readonly owners: readonly OwnerSummary[]
  readonly total: Usage
  readonly counts: OwnerCounts
  readonly #sorted = new Map<string, readonly OwnerSummary[]>()
  readonly #regarding = new Map<Subject, Promise<OwnersSnapshot>>()
  readonly #warnAt: number
  #overAndNear: readonly OwnerSummary[] | undefined
  #history: InstanceHistory | undefined

  /** @param source the snapshot that has the same owners in the same order */
  constructor(owners: readonly OwnerSummary[], warnAt: number, source?: OwnersSnapshot) {
    this.#warnAt = warnAt
    this.owners = source ? owners : owners.toSorted((left, right) => (left.text < right.text ? -1 : 1))
    this.total = source?.total ?? owners.reduce((sum, { usage }) => addDelta(sum, usage), noUsage)
    this.counts = countsOf(owners)
  }

  /** The owners over a limit or near it, the one with the fewest bytes left first. */
  get overAndNear(): readonly OwnerSummary[] {
    this.#overAndNear ??= this.owners
      .filter(({ state }) => state === 'over' || state === 'near')
      .sort((left, right) => Number(left.binding!.left) - Number(right.binding!.left))
    return this.#overAndNear
  }

  /** All owners, the largest first except by name; equal ones by name. @param history for the growth */
  sorted(by: OwnerOrder, isReverse: boolean, history: InstanceHistory | undefined): readonly OwnerSummary[] {
    if (by === 'name') return isReverse ? this.owners.toReversed() : this.owners
    if (this.#history !== history) this.#sorted.clear()
    this.#history = history
    const key = `${by} ${isReverse}`
    const known = this.#sorted.get(key)
    if (known !== undefined) return known
    const ranks = new Map(this.owners.map((owner) => [owner, RANKS[by](owner, history)]))
    const sign = isReverse ? -1 : 1
    // The owners are already sorted by name, and the sort is stable.
    const sorted = this.owners.toSorted((left, right) => sign * (ranks.get(right)! - ranks.get(left)!))
    this.#sorted.set(key, sorted)
    return sorted
  }

  /** The same owners with the limit of one subject, and their state and share against it. */
  regarding(subject: Subject): Promise<OwnersSnapshot> {
    const known = this.#regarding.get(subject)
    if (known !== undefined) return known
    const [oldest] = this.#regarding.keys()
    if (oldest !== undefined && this.#regarding.size >= MAX_SUBJECTS) this.#regarding.delete(oldest)
    const found = this.#compare(subject)
    this.#regarding.set(subject, found)
    return found
  }

  async #compare(subject: Subject): Promise<OwnersSnapshot> {
    const found: OwnerSummary[] = []
    for await (const owner of paced(this.owners))
      found.push({ ...owner, ...stateOf(owner, [subject], this.#warnAt) })
    return new OwnersSnapshot(found, this.#warnAt, this)
  }
}

/** Up to this many owners, every page reads them again; fewer on a shared store. */
const SMALL_INSTANCE = 1000
const SMALL_SHARED_INSTANCE = 100
/** Least age of the figures, in milliseconds, before a large instance is scanned again. */
const MIN_AGE_MS = 5000
/** Figures are shown for this many times as long as their scan took: scans take at most a twentieth of the time. */
const AGE_PER_SCAN = 20
/** Milliseconds for which a page after a change, or a file, waits for a scan. */
const MAX_WAIT_MS = 10_000

interface Known {
  readonly snapshot: OwnersSnapshot
  /** `Store.writes` before the scan. */
  readonly writes: number
  readonly generation: number
  /** Milliseconds since 1970 after which the figures are too old. */
  readonly expiresAt: number
}

interface Scan {
  readonly generation: number
  readonly result: Promise<OwnersSnapshot>
  /** Resolves when the scan has found more owners than a small instance has. */
  readonly large: Promise<undefined>
}

export class OwnerTable {
  readonly #store: Store
  readonly #quota: QuotaEngine
  #known: Known | undefined
  #scan: Scan | undefined
  /** Number of changes after which older figures must not be shown. */
  #generation = 0

  constructor(store: Store, quota: QuotaEngine) {
    this.#store = store
    this.#quota = quota
  }

  /** Makes the next page wait for new figures, after a change that an administrator made on a page. */
  changed(): void {
    this.#generation++
  }

  /**
   * The owners now; on a large instance as they were some seconds ago, but not before {@link changed}.
   * @param warnAt share of a limit, between 0 and 1, from which an owner is near it
   * @returns undefined during the first scan over a large instance
   */
  async snapshot(warnAt: number): Promise<OwnersSnapshot | undefined> {
    const known = this.#known
    const isCurrent = known?.generation === this.#generation
    if (isCurrent && this.#isFresh(known)) return known.snapshot
    const { result, large } = this.#startScan(warnAt)
    // The next request gets the new figures; a failure is reported to the request that has none.
    result.catch(() => undefined)
    if (known === undefined) return Promise.race([result, large])
    return isCurrent && !this.#isSmall(known) ? known.snapshot : withinTime(result, known.snapshot)
  }

  /**
   * The same for the CSV download, which waits for the first scan.
   * @throws AllotError unavailable when that takes too long
   */
  async wholeSnapshot(warnAt: number): Promise<OwnersSnapshot> {
    return (await this.snapshot(warnAt)) ?? withinTime(this.#startScan(warnAt).result, this.#known?.snapshot)
  }

  #isFresh({ writes, expiresAt, snapshot }: Known): boolean {
    const { shared } = this.#store.driver
    if (!shared && writes === this.#store.writes) return true
    return snapshot.owners.length > this.#smallSize && Date.now() < expiresAt
  }

  get #smallSize(): number {
    return this.#store.driver.shared ? SMALL_SHARED_INSTANCE : SMALL_INSTANCE
  }

  #isSmall({ snapshot }: Known): boolean {
    return snapshot.owners.length <= this.#smallSize
  }

  #startScan(warnAt: number): Scan {
    const generation = this.#generation
    if (this.#scan?.generation === generation) return this.#scan
    const large = deferred<undefined>()
    const onLarge = () => large.resolve(undefined)
    const result = this.#read(warnAt, generation, onLarge).finally(() => {
      if (this.#scan?.generation === generation) this.#scan = undefined
    })
    this.#scan = { generation, result, large: large.promise }
    return this.#scan
  }

  async #read(warnAt: number, generation: number, onLarge: () => void): Promise<OwnersSnapshot> {
    const { writes } = this.#store
    const begun = Date.now()
    const owners = await this.#store.readAlone(async (tx) => {
      const found: OwnerSummary[] = []
      const quotas = await this.#quota.reports.ownerQuotas(tx)
      try {
        for await (const account of paced(accounts.all(tx))) {
          if (found.length === this.#smallSize) onLarge()
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
    if (generation >= (this.#known?.generation ?? 0))
      this.#known = { snapshot, writes, generation, expiresAt }
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
  scan.catch(() => undefined)
  throw new AllotError('unavailable', 'the owners are being read: open the page again in a few seconds', {
    retryAfter: 5,
  })
}

const summaryOf = (
  { id, name, fullName, kind, active, admin }: Account,
  usage: Usage,
  groups: readonly QuotaGroup[],
  warnAt: number,
): OwnerSummary => ({
  id,
  name,
  fullName,
  kind,
  active,
  admin,
  usage,
  groups,
  ...stateOf({ groups, usage }, distinctSubjects(groups), warnAt),
  used: usedBy('size:all', usage),
  text: foldCase(`${name}\n${fullName}`),
})

/** The limit that decides the state of an owner, among those of some subjects. */
const stateOf = (
  { groups, usage }: Pick<OwnerSummary, 'groups' | 'usage'>,
  among: readonly Subject[],
  warnAt: number,
): Pick<OwnerSummary, 'binding' | 'state' | 'share'> => {
  const [binding] = compareLimits(bindingLimits(groups, usage, among), warnAt)
  return { binding, state: binding?.state ?? 'unlimited', share: binding?.share ?? 0 }
}
