/**
 * All owners with their usage, limits and groups, which the pages of administrators sort, filter and count.
 */
import {
  bindingLimits,
  type Compared,
  compareLimits,
  distinctSubjects,
  type QuotaGroup,
  type SubjectLimit,
  type UsageState,
} from '../../quota/evaluate.ts'
import type { QuotaEngine } from '../../quota/index.ts'
import { noUsage, type Subject, type Usage, usedBy } from '../../quota/subjects.ts'
import { addDelta } from '../../quota/usage.ts'
import { paced } from '../../records/pacing.ts'
import { type Account, accounts } from '../../records/schema/index.ts'
import type { Store } from '../../records/store.ts'
import { foldCase } from '../../search/index.ts'
import { growthIn, type InstanceHistory } from './instance-history.ts'
import { Refreshed } from './refreshed.ts'

export interface OwnerSummary {
  readonly id: number
  readonly name: string
  readonly fullName: string
  readonly kind: Account['kind']
  readonly active: boolean
  readonly admin: boolean
  readonly usage: Usage
  /** Bytes of everything. */
  readonly used: number
  /** The limit that the owner is over, or else near, or else has used most of; undefined without a limit. */
  readonly binding: Compared<SubjectLimit> | undefined
  readonly state: UsageState | 'unlimited'
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
  used: ({ used }) => used,
  share: ({ share }) => share,
  growth: (owner, history) => Number((history && growthIn(history, owner)) ?? 0),
}

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
  readonly #warnAt: number

  /** @param warnAt share of a limit, between 0 and 1, from which an owner is near it */
  constructor(owners: readonly OwnerSummary[], warnAt: number) {
    this.#warnAt = warnAt
    this.owners = owners.toSorted((left, right) => (left.text < right.text ? -1 : 1))
    this.total = owners.reduce((sum, { usage }) => addDelta(sum, usage), noUsage)
    this.counts = countsOf(owners)
  }

  /** The owners over a limit or near it, the one with the fewest bytes left first. */
  get overAndNear(): readonly OwnerSummary[] {
    return this.owners
      .filter(({ state }) => state === 'over' || state === 'near')
      .sort((left, right) => left.binding!.left - right.binding!.left)
  }

  /**
   * All owners, the largest first except by name; equal ones by name.
   * @param history for the growth
   */
  sorted(by: OwnerOrder, isReverse: boolean, history: InstanceHistory | undefined): readonly OwnerSummary[] {
    if (by === 'name') return isReverse ? this.owners.toReversed() : this.owners
    const ranks = new Map(this.owners.map((owner) => [owner, RANKS[by](owner, history)]))
    const sign = isReverse ? -1 : 1
    // The owners are already sorted by name, and the sort is stable.
    return this.owners.toSorted((left, right) => sign * (ranks.get(right)! - ranks.get(left)!))
  }

  /** The same owners with the limit of one subject, and their state and share against it. */
  async regarding(subject: Subject): Promise<OwnersSnapshot> {
    const found: OwnerSummary[] = []
    for await (const owner of paced(this.owners))
      found.push({ ...owner, ...stateOf(owner, [subject], this.#warnAt) })
    return new OwnersSnapshot(found, this.#warnAt)
  }
}

/** Up to this many owners, every page reads them again. */
const SMALL_INSTANCE = 100
/** Least age of the figures, in milliseconds, before a large instance is scanned again. */
const MIN_AGE_MS = 5000
/** Figures are shown this many times as long as their scan took, so scans take at most 5 % of the time. */
const AGE_PER_SCAN = 20

/** @param warnAt share of a limit, between 0 and 1, from which an owner is near it */
export const ownerTable = (store: Store, quota: QuotaEngine, warnAt: number): Refreshed<OwnersSnapshot> =>
  new Refreshed(
    () =>
      store.read(async (tx) => {
        const found: OwnerSummary[] = []
        const quotas = quota.reports.quotasOf(tx, accounts.all(tx), ({ id }) => id)
        for await (const { owner, usage, groups } of quotas)
          found.push(summaryOf(owner, usage, groups, warnAt))
        return new OwnersSnapshot(found, warnAt)
      }),
    ({ owners }, took) => (owners.length <= SMALL_INSTANCE ? 0 : Math.max(MIN_AGE_MS, AGE_PER_SCAN * took)),
  )

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
