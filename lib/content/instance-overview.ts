/**
 * All owners with their usage, limits, groups and growth, and the totals over time, for the pages of administrators. Both
 * are memoized, since they read every owner: a request must not wait for that on a large instance.
 */
import { setImmediate } from 'node:timers/promises'
import { add, type Sum, subtract } from '../integers.ts'
import { bindingLimits, type SubjectLimit } from '../quota/evaluate.ts'
import { GROWTH_DAYS } from '../quota/forecast.ts'
import type { QuotaEngine } from '../quota/index.ts'
import { noUsage, type Usage, usedBy } from '../quota/subjects.ts'
import { addDelta, today, usageIn } from '../quota/usage.ts'
import { type Account, accounts, dailyUsages, ownerUsages } from '../records/schema/index.ts'
import type { Store } from '../records/store.ts'

export interface OwnerSummary {
  readonly id: number
  readonly name: string
  readonly fullName: string
  readonly kind: Account['kind']
  readonly active: boolean
  readonly admin: boolean
  /** Bytes of everything. */
  readonly used: Sum
  /** The limit that the owner is over, or else near, or else has used most of; undefined without a limit. */
  readonly binding: SubjectLimit | undefined
  readonly state: 'over' | 'near' | 'within' | 'unlimited'
  /** Share of the binding limit that is used; more than 1 when the owner is over. */
  readonly share: number
  /** Names of the groups that apply. */
  readonly groups: readonly string[]
}

export interface OwnersSnapshot {
  readonly owners: readonly OwnerSummary[]
  readonly total: Usage
  /** Milliseconds since 1970. */
  readonly at: number
}

/** How the instance grew. */
export interface InstanceHistory {
  /** Usage of all owners at the end of each day, oldest first; the day is counted from 1970. */
  readonly days: readonly (Usage & { readonly day: number })[]
  /** Bytes that each owner used {@link GROWTH_DAYS} days ago. */
  readonly before: ReadonlyMap<number, Sum>
}

/** An instance with at most so many owners is read again for each page. */
const SMALL_INSTANCE = 1000
/** Milliseconds for which a large instance shows the same figures. */
const MAX_AGE_MS = 5000
const HISTORY_AGE_MS = 600_000
const HISTORY_WAIT_MS = 1000
/** Days of the totals that are read. */
const TOTAL_DAYS = 90
const YIELD_EVERY = 500

export class InstanceOverview {
  readonly #store: Store
  readonly #quota: QuotaEngine
  #owners: { value: OwnersSnapshot; writes: number } | undefined
  #reading: Promise<OwnersSnapshot> | undefined
  #history: { value: InstanceHistory; at: number } | undefined
  #historyReading: Promise<InstanceHistory> | undefined

  constructor(store: Store, quota: QuotaEngine) {
    this.#store = store
    this.#quota = quota
  }

  /**
   * All owners by name. On a large instance the figures are up to five seconds old, except after {@link changed}.
   * @param warnAt share of a limit, between 0 and 1, from which an owner is near it
   */
  async owners(warnAt: number): Promise<OwnersSnapshot> {
    const known = this.#owners
    if (known === undefined) return this.#read(warnAt)
    if (known.writes === this.#store.writes && !this.#store.driver.shared) return known.value
    if (known.value.owners.length <= SMALL_INSTANCE) return this.#read(warnAt)
    // The next request gets the new figures.
    if (Date.now() - known.value.at > MAX_AGE_MS) this.#read(warnAt).catch(() => undefined)
    return known.value
  }

  /** Makes the next page wait for new figures, after a change that an administrator made on a page. */
  changed(): void {
    this.#owners = undefined
    this.#reading = undefined
  }

  /** The history; undefined while it is being read for the first time and that takes long. */
  async history(): Promise<InstanceHistory | undefined> {
    const known = this.#history
    const isFresh = known !== undefined && Date.now() - known.at < HISTORY_AGE_MS
    if (isFresh && known.value.days.at(-1)?.day === today()) return known.value
    this.#historyReading ??= this.#readHistory().finally(() => {
      this.#historyReading = undefined
    })
    const reading = this.#historyReading
    reading.catch(() => undefined)
    if (known !== undefined) return known.value
    const waited = new Promise<undefined>((resolve) =>
      setTimeout(resolve, HISTORY_WAIT_MS, undefined).unref(),
    )
    return Promise.race([reading, waited])
  }

  #read(warnAt: number): Promise<OwnersSnapshot> {
    this.#reading ??= this.#readOwners(warnAt).finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  async #readOwners(warnAt: number): Promise<OwnersSnapshot> {
    const { writes } = this.#store
    const found = await this.#quota.reports.everyOwner()
    const records = await this.#store.read((tx) =>
      accounts.byIds(
        tx,
        found.map(({ owner }) => owner),
      ),
    )
    const owners = found.flatMap(({ owner, usage, groups }) => {
      const account = records.get(owner)
      return account === undefined ? [] : [summaryOf(account, usage, groups, warnAt)]
    })
    owners.sort((left, right) => (left.name.toLowerCase() < right.name.toLowerCase() ? -1 : 1))
    const total = found.reduce((sum, { usage }) => addDelta(sum, usage), noUsage)
    const value = { owners, total, at: Date.now() }
    this.#owners = { value, writes }
    return value
  }

  async #readHistory(): Promise<InstanceHistory> {
    const history = await this.#store.read(async (tx) => {
      const totals = new DailyTotals(today())
      let count = 0
      for await (const usage of dailyUsages.all(tx)) {
        totals.add(usage.owner, usage.day, usage)
        if (++count % YIELD_EVERY === 0) await setImmediate()
      }
      for await (const usage of ownerUsages.all(tx)) {
        totals.add(usage.owner, usage.day, usageIn(usage))
        if (++count % YIELD_EVERY === 0) await setImmediate()
      }
      return totals.result()
    })
    this.#history = { value: history, at: Date.now() }
    return history
  }
}

const summaryOf = (
  { id, name, fullName, kind, active, admin }: Account,
  usage: Usage,
  groups: Parameters<typeof bindingLimits>[0],
  warnAt: number,
): OwnerSummary => {
  const limits = bindingLimits(groups, usage)
  const shareOf = ({ limit, left }: SubjectLimit) =>
    limit > 0 ? Number(subtract(limit, left)) / limit : 1 + Number(left <= 0)
  const over = limits.find(({ left }) => left <= 0)
  const near = limits.find((limit) => shareOf(limit) >= warnAt)
  const fullest = limits.toSorted((left, right) => shareOf(right) - shareOf(left))[0]
  const binding = over ?? near ?? fullest
  const state = over ? 'over' : near ? 'near' : binding ? 'within' : 'unlimited'
  return {
    ...{ id, name, fullName, kind, active, admin, binding, state },
    used: usedBy('size:all', usage),
    share: binding === undefined ? 0 : shareOf(binding),
    groups: groups.map((group) => group.name),
  }
}

/** Sums what owners used on each day, of which only days with a change are stored, in order for each owner. */
class DailyTotals {
  readonly #today: number
  readonly #last = new Map<number, Usage>()
  readonly #changes = new Map<number, Usage>()
  readonly #before = new Map<number, Sum>()
  #first = Number.POSITIVE_INFINITY

  constructor(day: number) {
    this.#today = day
  }

  add(owner: number, day: number, usage: Usage): void {
    const last = this.#last.get(owner) ?? noUsage
    this.#last.set(owner, usage)
    this.#first = Math.min(this.#first, day)
    const index = Math.max(day, this.#today - TOTAL_DAYS)
    const delta = Object.fromEntries(
      kinds.map((kind) => [kind, subtract(usage[kind] ?? 0, last[kind] ?? 0)]),
    ) as unknown as Usage
    this.#changes.set(index, addDelta(this.#changes.get(index) ?? noUsage, delta))
    if (day <= this.#today - GROWTH_DAYS) this.#before.set(owner, usedBy('size:all', usage))
  }

  result(): InstanceHistory {
    const days: (Usage & { day: number })[] = []
    let total = noUsage
    for (let day = Math.max(this.#first, this.#today - TOTAL_DAYS); day <= this.#today; day++) {
      total = addDelta(total, this.#changes.get(day) ?? {})
      days.push({ ...total, day })
    }
    return { days, before: this.#before }
  }
}

const kinds = Object.keys(noUsage) as (keyof Usage)[]

/** Bytes by which an owner grew in {@link GROWTH_DAYS} days. */
export const growthIn = (history: InstanceHistory, { id, used }: OwnerSummary): Sum =>
  subtract(used, history.before.get(id) ?? 0)

/** Bytes by which all owners together grew in {@link GROWTH_DAYS} days. */
export const totalGrowth = (history: InstanceHistory, owners: readonly OwnerSummary[]): Sum =>
  owners.reduce<Sum>((sum, owner) => add(sum, growthIn(history, owner)), 0)
