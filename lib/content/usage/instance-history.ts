/**
 * How the instance grew: totals of each day, and what each owner used a month ago. It follows from all days
 * of all owners, so it is read in the background, in small steps: at most every ten minutes, and less often
 * when reading it takes long. The last day is that of the latest figures of the owners.
 */
import { today } from '../../clock.ts'
import { GROWTH_DAYS } from '../../quota/forecast.ts'
import { noUsage, type Usage, usedBy } from '../../quota/subjects.ts'
import { addDelta, usageOfRecord } from '../../quota/usage.ts'
import { paced } from '../../records/pacing.ts'
import { dailyUsages, ownerUsages } from '../../records/schema/index.ts'
import type { Store } from '../../records/store.ts'
import { Refreshed } from './refreshed.ts'

type UsageOfDay = Usage & { readonly day: number }

export interface InstanceHistory {
  /** Usage of all owners at the end of each day, oldest first; the day is counted from 1970. */
  readonly days: readonly UsageOfDay[]
  /**
   * Bytes that each owner used {@link GROWTH_DAYS} days ago; absent for owners without a record of that time,
   * which used nothing.
   */
  readonly before: ReadonlyMap<number, number>
  /** The sum of these bytes. */
  readonly totalBefore: number
}

/**
 * A history is shown for at least this many milliseconds, and for this many times as long as it took to read.
 */
const MIN_AGE_MS = 600_000
const AGE_PER_READ = 1000
/** Days of the totals that are read. */
const TOTAL_DAYS = 90

export const instanceHistory = (store: Store): Refreshed<InstanceHistory> =>
  new Refreshed(
    () =>
      store.read(async (tx) => {
        const totals = new DailyTotals(today())
        for await (const usage of paced(dailyUsages.all(tx))) totals.add(usage.owner, usage.day, usage)
        for await (const usage of paced(ownerUsages.all(tx)))
          totals.add(usage.owner, usage.day, usageOfRecord(usage))
        return totals.result()
      }),
    (_history, took) => Math.max(MIN_AGE_MS, AGE_PER_READ * took),
  )

/**
 * Sums what owners used on each day, of which only days with a change are stored, in order for each owner.
 */
class DailyTotals {
  readonly #today: number
  readonly #last = new Map<number, Usage>()
  readonly #changes = new Map<number, Usage>()
  readonly #before = new Map<number, number>()
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
      kinds.map((kind) => [kind, (usage[kind] ?? 0) - (last[kind] ?? 0)]),
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
    const totalBefore = [...this.#before.values()].reduce((sum, bytes) => sum + bytes, 0)
    return { days, before: this.#before, totalBefore }
  }
}

const kinds = Object.keys(noUsage) as (keyof Usage)[]

/** The days of a history with the latest total as that of today. */
export const daysUntilNow = ({ days }: InstanceHistory, total: Usage): readonly UsageOfDay[] => [
  ...days.filter(({ day }) => day < today()),
  { ...total, day: today() },
]

/** How many bytes more an owner uses than {@link GROWTH_DAYS} days ago. */
export const growthIn = (
  { before }: InstanceHistory,
  { id, used }: { readonly id: number; readonly used: number },
): number => used - (before.get(id) ?? 0)

/** The same for all owners: the sum of their growth. */
export const totalGrowth = ({ totalBefore }: InstanceHistory, total: Usage): number =>
  usedBy('size:all', total) - totalBefore
