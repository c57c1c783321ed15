import { describeValue, invalid } from '../errors.ts'
import type { Jobs } from '../records/jobs.ts'
import { removeBelongings } from '../records/schema/belongings.ts'
import { type DailyUsage, type RepositoryUsage, repositoryUsages } from '../records/schema/index.ts'
import type { Store, WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import type { QuotaExplanation } from './evaluate.ts'
import { Expiries } from './expiries.ts'
import { Groups } from './groups.ts'
import { LedgerById, type LfsChanged } from './ledger.ts'
import type { Owner, OwnerDirectory } from './owners.ts'
import { PolicyChanges } from './policy-changes.ts'
import { type QuotaEventRecorder, QuotaEvents, type QuotaListeners } from './quota-events.ts'
import { Reports } from './reports.ts'
import { Rules } from './rules.ts'
import { explanationOf, isOver, type QuotaDefaults, Statuses } from './status.ts'
import type { Subject, Usage } from './subjects.ts'
import {
  addDelta,
  HISTORY_DAYS,
  OwnerCounters,
  RepositoryCounters,
  readHistory,
  removeEntriesJob,
} from './usage.ts'
import { requireWithin } from './within.ts'

interface QuotaEngineDependencies {
  store: Store
  jobs: Jobs
  defaults: QuotaDefaults
  owners: OwnerDirectory
  /** The share of a limit, between 0 and 1, that counts as near it. */
  share: number
  /** Called with quota events after their change is durable. */
  listeners: QuotaListeners
  /** Records quota events in the transactions that cause them. */
  recorder?: QuotaEventRecorder | undefined
  lfsChanged?: LfsChanged | undefined
}

/**
 * Counts what owners use and evaluates it against rules. It refuses nothing but puts that the host wants to
 * be `within`: the host decides what to do when an owner is over quota. The engine works with ids, and knows
 * neither accounts nor git, except for
 *
 * - host-owners.ts and plans-by-name.ts, which resolve names;
 * - the audit log, which has the names of accounts;
 * - reports.ts, which reads the repositories of an owner.
 */
export class QuotaEngine {
  /** Usage and groups of owners. */
  readonly statuses: Statuses
  readonly rules: Rules
  readonly groups: Groups
  readonly ledger: LedgerById
  readonly expiries: Expiries
  readonly repositories: RepositoryCounters
  readonly reports: Reports
  readonly changes: PolicyChanges
  /** What applies to owners without a group. */
  readonly defaults: QuotaDefaults
  readonly #store: Store
  readonly #owners: OwnerCounters
  readonly #events: QuotaEvents

  constructor({
    store,
    jobs,
    defaults,
    owners,
    share,
    listeners,
    recorder,
    lfsChanged = async () => undefined,
  }: QuotaEngineDependencies) {
    this.changes = new PolicyChanges(jobs)
    this.defaults = defaults
    this.#store = store
    this.statuses = new Statuses(store, defaults)
    this.#events = new QuotaEvents({ share, statuses: this.statuses, owners, listeners, recorder })
    this.#owners = new OwnerCounters((tx, change) => this.#events.changing(tx, change))
    this.rules = new Rules(store, this.changes)
    this.groups = new Groups(store, this.changes)
    this.ledger = new LedgerById(this.#owners, lfsChanged, (expiresAt) => this.expiries.note(expiresAt))
    this.expiries = new Expiries(store, this.ledger, this.#owners)
    this.repositories = new RepositoryCounters(this.#owners, jobs)
    this.reports = new Reports(store, defaults, owners.ids)
    jobs.handle('removeLedgerEntries', removeEntriesJob)
  }

  /** Whether the owner is over quota for a subject. */
  async isOver(owner: number, subject: Subject): Promise<boolean> {
    return isOver(await this.statuses.of(owner), subject)
  }

  /** @param subject undefined: the one whose limit the owner meets first */
  async explain(owner: number, subject?: Subject): Promise<QuotaExplanation> {
    return explanationOf(await this.statuses.of(owner), subject)
  }

  /**
   * Refuses a transaction that would take an owner over quota.
   * @param more bytes that are to be counted later
   * @throws OverQuotaError
   */
  async requireWithin(
    tx: ReadTransaction,
    { id, name }: Owner,
    subjects: Iterable<Subject>,
    more: Partial<Usage> = {},
  ): Promise<void> {
    const { before, after } = await this.#owners.change(tx, id)
    const change = { before, after: addDelta(after, more) }
    requireWithin(name, subjects, (await this.statuses.read(tx, id)).groups, change)
  }

  /**
   * Usage at the end of each day on which it changed, oldest first; the last entry is the present usage.
   * @param days how many days to look back
   * @throws AllotError invalid unless `days` is an integer from 1 to {@link HISTORY_DAYS}
   */
  async history(owner: number, days = HISTORY_DAYS): Promise<DailyUsage[]> {
    if (!Number.isInteger(days) || days < 1 || days > HISTORY_DAYS)
      throw invalid(`days must be an integer from 1 to ${HISTORY_DAYS}, got ${describeValue(days)}`)
    return this.#store.read((tx) => readHistory(tx, owner, days))
  }

  /**
   * All days that are kept, without a limit; the first may be older than {@link HISTORY_DAYS}. Nothing was
   * used before it.
   */
  wholeHistory(owner: number): Promise<DailyUsage[]> {
    return this.#store.read((tx) => readHistory(tx, owner, Number.POSITIVE_INFINITY))
  }

  /** Usage of a repository by category; undefined when there is no such repository. */
  repositoryUsage(id: number): Promise<RepositoryUsage | undefined> {
    return this.#store.read((tx) => repositoryUsages.get(tx, [id]))
  }

  /**
   * Removes the entries, the history and the counters of a deleted owner whose repositories are already
   * removed. The counters stay as they are until all is removed.
   * @param limit records to remove at most
   * @returns how many were removed
   */
  async removeOwner(tx: WriteContext, owner: number, limit: number): Promise<number> {
    const removed = await removeBelongings(tx, 'owner', owner, 'later', limit)
    if (removed < limit) await this.#owners.forget(tx, owner)
    return removed
  }
}
