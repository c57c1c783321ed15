import type { Sum } from '../integers.ts'
import { measure, type QuotaGroup, type QuotaRule } from './evaluate.ts'
import type { QuotaStatus } from './status.ts'
import type { Subject, Usage } from './subjects.ts'

/** An owner's usage passed a rule's limit, or the share of it at which hosts are told, upward or downward. */
export interface ThresholdEvent {
  owner: number
  rule: string
  subjects: readonly Subject[]
  /** Bytes. */
  limit: number
  /** 1 for the limit itself, less for the share of it. */
  share: number
  /** Whether the usage is now at or above `limit * share`. */
  reached: boolean
  /** Bytes that the rule measured before the change, and measures now. */
  before: Sum
  used: Sum
}

/** What a change of usage crossed, in the order in which it did. */
export const thresholdEventsBetween = (
  groups: readonly QuotaGroup[],
  before: Usage,
  after: Usage,
  share: number,
): Omit<ThresholdEvent, 'owner'>[] => {
  const rules = new Map(groups.flatMap((group) => group.rules.map((rule) => [rule.name, rule])))
  return [...rules.values()].flatMap((rule) =>
    crossedBy(rule, measure(rule, before), measure(rule, after), share),
  )
}

/** Nothing is used up on the way to a limit of 0 or less: its rule never stands. */
const crossedBy = (rule: QuotaRule, before: Sum, used: Sum, share: number) => {
  if (rule.limit <= 0 || before === used) return []
  const { name, subjects, limit } = rule
  const shares = share < 1 ? [share, 1] : [1]
  return (used > before ? shares : shares.reverse())
    .filter((at) => before >= limit * at !== used >= limit * at)
    .map((at) => ({ rule: name, subjects, limit, share: at, reached: used >= limit * at, before, used }))
}

export interface ThresholdEvents {
  /** Takes note of a change that is durable. */
  changed(owner: number, before: Usage, after: Usage): void
  /** Resolves when everything noted has been told. */
  idle(): Promise<void>
}

/**
 * Tells of every crossing once, in the order of the changes: each transaction's usage begins where the one before it
 * ended, so none is told twice and none is left out.
 */
export const createThresholdEvents = (
  standing: (owner: number) => QuotaStatus | Promise<QuotaStatus>,
  { share, notify, onError }: ThresholdEventOptions,
): ThresholdEvents => {
  let last: Promise<void> = Promise.resolve()
  const look = async (owner: number, before: Usage, after: Usage) => {
    const { groups } = await standing(owner)
    for (const event of thresholdEventsBetween(groups, before, after, share))
      await notify({ owner, ...event })
  }
  return {
    changed(owner, before, after) {
      last = last.then(() => look(owner, before, after)).catch(onError)
    },
    idle: () => last,
  }
}

export interface ThresholdEventOptions {
  share: number
  notify: (event: ThresholdEvent) => void | Promise<void>
  /** A crossing that could not be told. */
  onError: (error: unknown) => void
}
