import type { Jobs } from '../records/jobs.ts'
import {
  type DailyUsage,
  ownerUsages,
  type RepositoryUsage,
  repositoryUsages,
} from '../records/schema/index.ts'
import type { Store, WriteContext } from '../records/store.ts'
import { explain, isWithin, type QuotaExplanation } from './evaluate.ts'
import { createGroups, type Groups, unassignAll } from './groups.ts'
import { createLedger, type Ledger, type LfsChanged } from './ledger.ts'
import { createPlans, type Plans } from './plan.ts'
import {
  listOverQuota,
  type OverQuotaQuery,
  type OwnerIds,
  type OwnerOverQuota,
  totalUsage,
} from './reports.ts'
import { createRules, type Rules } from './rules.ts'
import { createStatusCache, type QuotaDefaults, type QuotaStatus } from './status.ts'
import type { Subject, Usage } from './subjects.ts'
import { createThresholdEvents, type ThresholdListener } from './threshold-events.ts'
import {
  createRepositories,
  createUsageCounters,
  type Repositories,
  readHistory,
  removeEntriesJob,
  removeHistory,
} from './usage.ts'

/**
 * Counts what owners use and evaluates it against rules. It refuses nothing: the host decides what to do when an owner is
 * over quota. Owners and repositories are ids here; names, accounts and git belong to the layers above.
 */
export interface QuotaEngine {
  readonly rules: Rules
  readonly groups: Groups
  readonly ledger: Ledger
  readonly repositories: Repositories
  readonly plans: Plans
  /** Usage and groups of an owner, memoized until the usage, a rule or a group changes. */
  status(owner: number): Promise<QuotaStatus>
  /** "Whether the user is over quota for that subject." */
  isOver(owner: number, subject: Subject): Promise<boolean>
  explain(owner: number, subject: Subject): Promise<QuotaExplanation>
  /** Owners that are over quota for a subject, and those near it when the query asks for them: largest excess first. */
  overQuota(
    query: OverQuotaQuery,
    at: { offset: number; limit: number },
  ): Promise<{ items: OwnerOverQuota[]; total: number }>
  /** Usage at the end of each day on which it changed, oldest first; the last entry is the present usage. */
  history(owner: number): Promise<DailyUsage[]>
  /** Usage of a repository by category; undefined when there is no such repository. */
  repositoryUsage(id: number): Promise<RepositoryUsage | undefined>
  /** Sum of the usage of all owners. */
  totals(): Promise<Usage>
  /** Removes an owner that is being deleted from every group. */
  unassignOwner(tx: WriteContext, owner: number): Promise<void>
  /**
   * Removes the entries and the history of a deleted owner whose repositories are removed already.
   * @param limit records to remove at most
   * @returns how many were removed
   */
  removeOwnerEntries(tx: WriteContext, owner: number, limit: number): Promise<number>
  /** Resolves when the listener has been called for every threshold event so far. */
  idle(): Promise<void>
}

interface QuotaOptions {
  defaults: QuotaDefaults
  /** Ids of all owners in ascending order, for reports about every owner. */
  owners: OwnerIds
  listener?: ThresholdListener | undefined
  lfsChanged?: LfsChanged | undefined
}

export const createQuota = (
  store: Store,
  jobs: Jobs,
  { defaults, owners, listener = silent, lfsChanged = async () => undefined }: QuotaOptions,
): QuotaEngine => {
  const usageCounters = createUsageCounters((owner, before, after, isKnown) => {
    statuses.drop(owner)
    if (isKnown && listener.isListening()) events.usageChanged(owner, before, after)
  })
  const events = createThresholdEvents((owner) => statuses.of(owner), listener)
  const statuses = createStatusCache(store, usageCounters, defaults)
  const ledger = createLedger(usageCounters, jobs, lfsChanged)
  jobs.handle('entries', removeEntriesJob)

  return {
    rules: createRules(store, statuses.dropAll),
    groups: createGroups(store, statuses.dropAll),
    ledger,
    repositories: createRepositories(usageCounters, jobs),
    plans: createPlans(store, defaults, owners, statuses.dropAll),
    status: statuses.of,
    async isOver(owner, subject) {
      const { groups, usage } = await statuses.of(owner)
      return !isWithin(groups, subject, usage)
    },
    async explain(owner, subject) {
      const { groups, usage } = await statuses.of(owner)
      return explain(groups, subject, usage)
    },
    overQuota: (query, at) => store.read((tx) => listOverQuota(tx, owners, defaults, query, at)),
    history: (owner) =>
      store.read(async (tx) => {
        const current = await ownerUsages.get(tx, [owner])
        const past = await readHistory(tx, owner)
        return current === undefined ? past : [...past, current]
      }),
    repositoryUsage: (id) => store.read((tx) => repositoryUsages.get(tx, [id])),
    totals: () => store.read((tx) => totalUsage(tx, owners)),
    unassignOwner: unassignAll,
    async removeOwnerEntries(tx, owner, limit) {
      const entries = await ledger.removeOwned(tx, owner, limit)
      const removed = entries + (await removeHistory(tx, owner, limit - entries))
      if (removed < limit) await usageCounters.forget(tx, owner)
      return removed
    },
    idle: events.idle,
  }
}

const silent: ThresholdListener = {
  share: 1,
  isListening: () => false,
  notify: () => undefined,
  onError: () => undefined,
}
