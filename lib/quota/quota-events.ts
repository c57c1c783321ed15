import type { WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { type QuotaGroup, type QuotaRule, ruleBytes } from './evaluate.ts'
import type { QuotaStatus } from './status.ts'
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

export interface QuotaEventListener {
  /** The share of a limit, between 0 and 1, that counts as near it. */
  share: number
  /** False while the host has no listener: usage changes then cost nothing here. */
  isListening: () => boolean
  notify: (event: QuotaEventById) => void | Promise<void>
  /** Called when `notify` or the evaluation failed; the event is lost. */
  onError: (error: unknown) => void
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

/** Records events in the transactions that cause them, for webhooks. */
export interface QuotaEventRecorder {
  /** The share of a limit, between 0 and 1, that counts as near it. */
  share: number
  /** Whether an event of the owner would be recorded. */
  isWatched: (tx: ReadTransaction, owner: number) => Promise<boolean>
  record: (tx: WriteContext, event: QuotaEventById) => Promise<void>
}

/** Records what a transaction crosses, which has changed the usage of an owner from `before` to `after`. */
export const recordQuotaEvents = async (
  tx: WriteContext,
  { owner, before, after }: UsageChange,
  groupsOf: (tx: ReadTransaction, owner: number) => Promise<readonly QuotaGroup[]>,
  { share, isWatched, record }: QuotaEventRecorder,
): Promise<void> => {
  if (!(await isWatched(tx, owner))) return
  for (const event of quotaEventsBetween(await groupsOf(tx, owner), before, after, share))
    await record(tx, { owner, ...event })
}

/**
 * Calls the listener once for each quota event, in the order of the changes. The usage of each transaction
 * begins where the one before it ended, so no event is reported twice. It uses the groups that apply when it
 * is called, which can have changed since the commit, and drops the events of owners that were deleted since.
 * An event is also lost when the outcome of its commit is not known, its listener fails, or the process ends
 * first.
 */
export class QuotaEvents {
  readonly #statusOf: (owner: number) => Promise<QuotaStatus>
  readonly #listener: QuotaEventListener
  #last: Promise<void> = Promise.resolve()

  constructor(statusOf: (owner: number) => Promise<QuotaStatus>, listener: QuotaEventListener) {
    this.#statusOf = statusOf
    this.#listener = listener
  }

  /** Evaluates a durable change; returns before the listener is called. */
  usageChanged(owner: number, before: Usage, after: Usage): void {
    const { isListening, onError } = this.#listener
    if (isListening()) this.#last = this.#last.then(() => this.#evaluate(owner, before, after)).catch(onError)
  }

  /** Resolves when the listener has been called for every change so far. */
  idle(): Promise<void> {
    return this.#last
  }

  async #evaluate(owner: number, before: Usage, after: Usage): Promise<void> {
    const { share, notify } = this.#listener
    const { groups } = await this.#statusOf(owner)
    for (const event of quotaEventsBetween(groups, before, after, share)) await notify({ owner, ...event })
  }
}
