/**
 * The state of an owner or of a limit, which all pages show with the same words, the same badge and the same
 * link.
 */
import type { UsageState } from '../../quota/evaluate.ts'
import { Link, unbrokenSize } from '../parts/components.tsx'
import { formatUsedOf, type LimitState } from './limits.tsx'

export type State = UsageState | 'unlimited'

/** The words for each state, as badges, filters and counts have them. */
export const STATE_NAMES: Readonly<Record<State, string>> = {
  over: 'Over quota',
  near: 'Near limit',
  within: 'OK',
  unlimited: 'No limit',
}

/**
 * A state as a colored badge. In words, since color alone is not accessible.
 * @param left bytes until the limit, when they matter
 */
export const StateBadge = ({ state, left }: { state: State; left?: number | undefined }) => (
  <span class={`state ${state}`}>
    <span>
      {STATE_NAMES[state]}
      {left !== undefined && state !== 'unlimited' && <span class="amount">{amountText(state, left)}</span>}
    </span>
  </span>
)

const amountText = (state: UsageState, left: number): string => {
  if (state !== 'over') return ` · ${unbrokenSize(left)} left`
  return left < 0 ? ` by ${unbrokenSize(-left)}` : ' · limit reached'
}

/** ` (166%)`; empty for a limit of 0 or below. Only usage at the limit is 100%, however close it is. */
export const shareText = ({ rule, share }: Pick<LimitState, 'rule' | 'share'>): string => {
  if (rule.limit <= 0) return ''
  const percent = Math.round(100 * share)
  return ` (${(share < 1 ? Math.min(99, percent) : share > 1 ? Math.max(101, percent) : percent).toLocaleString('en')}%)`
}

/**
 * What a rule counts, how much of its limit is used, and its name:
 * `Artifacts: 66.3 of 40 MiB (166%), rule builds`.
 */
export const LimitText = ({ limit }: { limit: Pick<LimitState, 'name' | 'rule' | 'used' | 'share'> }) => (
  <>
    {limit.name}: {formatUsedOf(limit)}
    {shareText(limit)}, rule <em>{limit.rule.name}</em>
  </>
)

/** Whether a removal can get usage under the limit, which it never does with a limit of 0 or below. */
export const isRemovalUseful = ({ state, rule }: Pick<LimitState, 'state' | 'rule'>): boolean =>
  state === 'over' && rule.limit > 0

/**
 * Leads to what can be removed to get under a limit, already selected.
 * @param rule name of a rule that the owner is over
 */
export const RemovalLink = ({
  owner,
  rule,
  class: className,
}: {
  owner: string
  rule: string
  class?: string
}) => (
  <Link
    class={className}
    to={`/-/storage/${owner}/usage?remove=${encodeURIComponent(rule)}`}
    label={`Choose what to remove from ${owner}, rule ${rule}`}
  >
    Choose what to remove
  </Link>
)
