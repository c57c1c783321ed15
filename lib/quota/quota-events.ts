import type { WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { type QuotaGroup, type QuotaRule, ruleBytes } from './evaluate.ts'
import type { OwnerDirectory } from './owners.ts'
import type { Statuses } from './status.ts'
import type { Subject, Usage } from './subjects.ts'
import type { UsageChange } from './usage.ts'

/** An owner's usage crossed a rule's limit, or the configured share of it, upward or downward. */
export interface QuotaEventById {
  /** Id of the owner; {@link QuotaEvent} has the name. */
  owner: number
  /**
   * `crossed`: the usage is at the limit or above it now; `near`: at the share that `quota.warnAt` sets, or
   * above; `back`: it is below the limit, or the share, again.
   */
  action: 'crossed' | 'near' | 'back'
  /** Name of the rule. */
  rule: string
  /** The subjects whose sum the rule measures. */
  subjects: readonly Subject[]
  /** Bytes. */
  limit: number
  /** 1 for the limit itself, less for a share of it. */
  share: number
  /** Whether the usage is now at or above `limit * share`. */
  reached: boolean
  /** Bytes that the rule measured before the change. */
  before: number
  /** Bytes that the rule measures now. */
  used: number
}

/**
 * Argument of `allot.on('quota', listener)`: an owner's usage crossed a rule's limit, or the share of it that
 * counts as near.
 */
export interface QuotaEvent extends Omit<QuotaEventById, 'owner'> {
  /** Name of the user or the organization. */
  owner: string
}

/** The host's listeners of the event `quota`: without one, changes of usage cost nothing here. */
export interface QuotaListeners {
  has(event: 'quota'): boolean
  notify(event: 'quota', detail: QuotaEvent): void
}

/** Records events in the transactions that cause them, for webhooks. */
export interface QuotaEventRecorder {
  /** Whether an event of the owner would be recorded. */
  isWatched: (tx: ReadTransaction, owner: number) => Promise<boolean>
  record: (tx: WriteContext, event: QuotaEventById) => Promise<void>
}

/** Events of one change of usage, by rule; those of a rule in the order in which the usage crossed them. */
const quotaEventsBetween = (
  groups: readonly QuotaGroup[],
  before: Usage,
  after: Usage,
  share: number,
): Omit<QuotaEventById, 'owner'>[] => {
  const rules = new Map(groups.flatMap((group) => group.rules.map((rule) => [rule.name, rule])))
  return [...rules.values()].flatMap((rule) =>
    eventsOfRule(rule, ruleBytes(rule, before), ruleBytes(rule, after), share),
  )
}

/** No thresholds: -1 is unlimited, and at any other limit of 0 or less the rule never stands. */
const eventsOfRule = (rule: QuotaRule, before: number, used: number, nearShare: number) => {
  if (rule.limit <= 0 || before === used) return []
  const { name, subjects, limit } = rule
  const shares = nearShare < 1 ? [nearShare, 1] : [1]
  return (used > before ? shares : shares.reverse())
    .filter((share) => before >= limit * share !== used >= limit * share)
    .map((share) => {
      const reached = used >= limit * share
      const action = reached ? (share === 1 ? 'crossed' : 'near') : 'back'
      return { action, rule: name, subjects, limit, share, reached, before, used } as const
    })
}

interface QuotaEventsDependencies {
  /** The share of a limit, between 0 and 1, that counts as near it. */
  readonly share: number
  readonly statuses: Pick<Statuses, 'read'>
  readonly owners: Pick<OwnerDirectory, 'byIds'>
  readonly listeners: QuotaListeners
  readonly recorder?: QuotaEventRecorder | undefined
}

/**
 * Finds what a change of usage crosses, in its transaction: there it is recorded for webhooks, and after the
 * commit the listeners are called, in the order of the changes, before the call that made the change returns.
 * The usage of each transaction begins where the one before it ended, so no event is reported twice.
 * Listeners miss an event when the outcome of its commit is not known, or when the process ends first.
 */
export class QuotaEvents {
  readonly #dependencies: QuotaEventsDependencies

  constructor(dependencies: QuotaEventsDependencies) {
    this.#dependencies = dependencies
  }

  /** Called at the end of a transaction that has changed the usage of an owner. */
  async changing(tx: WriteContext, { owner, before, after }: UsageChange): Promise<void> {
    const { share, statuses, owners, listeners, recorder } = this.#dependencies
    const isHeard = listeners.has('quota')
    const isWatched = (await recorder?.isWatched(tx, owner)) ?? false
    if (!isHeard && !isWatched) return
    const { groups } = await statuses.read(tx, owner)
    const events = quotaEventsBetween(groups, before, after, share)
    if (events.length === 0) return
    // Undefined in the transaction that deletes the owner.
    const name = isHeard ? (await owners.byIds(tx, [owner])).get(owner)?.name : undefined
    for (const event of events) {
      if (isWatched) await recorder!.record(tx, { owner, ...event })
      if (name !== undefined)
        tx.afterCommit((isCommitted) => isCommitted && listeners.notify('quota', { ...event, owner: name }))
    }
  }
}
