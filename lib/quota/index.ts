import type { Jobs } from '../records/jobs.ts'
import { type DailyUsage, ownerUsages } from '../records/schema/index.ts'
import type { Store, WriteContext } from '../records/store.ts'
import { explain, isWithin, type QuotaExplanation } from './evaluate.ts'
import { createGroups, type Groups, unassignAll } from './groups.ts'
import { readHistory, removeHistory } from './history.ts'
import { createLedger, type Ledger, type LfsChanged } from './ledger.ts'
import { listOverQuota, type OverQuotaQuery, type OwnerOverQuota } from './over-quota.ts'
import { createPlans, type Plans } from './plans.ts'
import { createRepositories, type Repositories, removeEntriesJob } from './repositories.ts'
import { createRules, type Rules } from './rules.ts'
import { totalUsage } from './scan.ts'
import { createStatusCache, type QuotaDefaults, type QuotaStatus } from './status.ts'
import type { Subject, Usage } from './subjects.ts'
import { createThresholdEvents, type ThresholdEvent } from './threshold-events.ts'
import { createUsageCounters } from './usage.ts'

/**
 * The quota engine: it counts, and judges; it refuses nothing. Owners and containers (repositories) are numbers to it,
 * so that it can be used without the rest of the house.
 */
export interface QuotaEngine {
  readonly rules: Rules
  readonly groups: Groups
  readonly ledger: Ledger
  readonly repositories: Repositories
  readonly plans: Plans
  /** Usage and groups of an owner; the answer itself when it is memoized. */
  status(owner: number): QuotaStatus | Promise<QuotaStatus>
  /** "Whether the user is over quota for that subject." */
  isOver(owner: number, subject: Subject): boolean | Promise<boolean>
  explain(owner: number, subject: Subject): Promise<QuotaExplanation>
  /** The owners that are over quota for a subject, and those near it when asked for: largest excess first. */
  overQuota(
    query: OverQuotaQuery,
    at: { offset: number; limit: number },
  ): Promise<{ items: OwnerOverQuota[]; total: number }>
  /** What an owner used at the end of each day on which that changed, the oldest first, up to now. */
  history(owner: number): Promise<DailyUsage[]>
  /** What all owners use together. */
  totals(): Promise<Usage>
  /** Takes an owner that is being deleted out of every group. */
  unassignOwner(tx: WriteContext, owner: number): Promise<void>
  /** Removes at most so many entries of such an owner, whose containers are gone already. @returns how many */
  removeOwnerEntries(tx: WriteContext, owner: number, limit: number): Promise<number>
  /** Resolves when every crossing of what is durable has been told. */
  idle(): Promise<void>
}

/** Whoever wants to hear of crossings. */
export interface ThresholdListener {
  /** The share of a limit, between 0 and 1, that counts as near it. */
  share: number
  /** False while nobody listens: crossings then cost nothing. */
  isListening: () => boolean
  notify: (event: ThresholdEvent) => void | Promise<void>
  onError: (error: unknown) => void
}

export const createQuota = (
  store: Store,
  jobs: Jobs,
  defaults: QuotaDefaults,
  listener: ThresholdListener = nobody,
  lfsChanged: LfsChanged = async () => undefined,
): QuotaEngine => {
  const usageCounters = createUsageCounters((owner, before, after, isKnown) => {
    statuses.drop(owner)
    if (isKnown && listener.isListening()) crossings.changed(owner, before, after)
  })
  const crossings = createThresholdEvents((owner) => statuses.of(owner), listener)
  const statuses = createStatusCache(store, usageCounters, defaults)
  const ledger = createLedger(usageCounters, jobs, lfsChanged)
  jobs.handle('entries', removeEntriesJob)

  return {
    rules: createRules(store, statuses.dropAll),
    groups: createGroups(store, statuses.dropAll),
    ledger,
    repositories: createRepositories(usageCounters, jobs),
    plans: createPlans(store, defaults, statuses.dropAll),
    status: statuses.of,
    isOver(owner, subject) {
      const standing = statuses.of(owner)
      return standing instanceof Promise
        ? standing.then((it) => isOver(it, subject))
        : isOver(standing, subject)
    },
    async explain(owner, subject) {
      const { groups, usage } = await statuses.of(owner)
      return explain(groups, subject, usage)
    },
    overQuota: (query, at) => store.read((tx) => listOverQuota(tx, defaults, query, at)),
    history: (owner) =>
      store.read(async (tx) => [
        ...(await readHistory(tx, owner)),
        ...(await ownerUsages.getMany(tx, [[owner]])).filter((one) => one !== undefined),
      ]),
    totals: () => store.read(totalUsage),
    unassignOwner: unassignAll,
    async removeOwnerEntries(tx, owner, limit) {
      const entries = await ledger.removeOwned(tx, owner, limit)
      const did = entries + (await removeHistory(tx, owner, limit - entries))
      if (did < limit) await usageCounters.forget(tx, owner)
      return did
    },
    idle: crossings.idle,
  }
}

const nobody: ThresholdListener = {
  share: 1,
  isListening: () => false,
  notify: () => undefined,
  onError: () => undefined,
}

const isOver = ({ groups, usage }: QuotaStatus, subject: Subject): boolean =>
  !isWithin(groups, subject, usage)
