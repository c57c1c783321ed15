import { compare, type Sum } from '../integers.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { bindingLimit, type LimitStatus } from './evaluate.ts'
import { groupResolver, readPolicy } from './policy.ts'
import { type OwnerIds, scanOwners } from './scan.ts'
import type { QuotaDefaults } from './status.ts'
import { type Subject, usedBy } from './subjects.ts'

/** An owner that is over a limit, or near it. */
export interface OwnerOverQuota extends LimitStatus {
  owner: number
  over: boolean
  /** Bytes that count toward the subject. */
  used: Sum
}

export interface OverQuotaQuery {
  subject: Subject
  /** Lists owners too that have at most this share of their limit left: 0 to 1. */
  within?: number | undefined
}

/** Owners that are over quota, and those near it when the query asks for them: least remaining bytes first. */
export const listOverQuota = async (
  tx: ReadTransaction,
  owners: OwnerIds,
  defaults: QuotaDefaults,
  { subject, within = 0 }: OverQuotaQuery,
  { offset, limit }: { offset: number; limit: number },
): Promise<{ items: OwnerOverQuota[]; total: number }> => {
  const groupsFor = groupResolver(await readPolicy(tx, defaults))
  const top = createTop(offset + limit)
  for await (const { owner, usage, assigned } of scanOwners(tx, owners)) {
    const binding = bindingLimit(groupsFor(assigned), subject, usage)
    if (binding === undefined || binding.remaining > Math.max(0, binding.limit * within)) continue
    top.add({ owner, over: binding.remaining <= 0, used: usedBy(subject, usage), ...binding })
  }
  return { items: top.sorted().slice(offset, offset + limit), total: top.total() }
}

/** Keeps the first `limit` owners in their order and counts all of them, in memory that `limit` bounds. */
const createTop = (limit: number) => {
  let first: OwnerOverQuota[] = []
  let total = 0
  const sorted = () =>
    first.sort((left, right) => compare(left.remaining, right.remaining) || left.owner - right.owner)
  return {
    add(owner: OwnerOverQuota) {
      total++
      first.push(owner)
      if (first.length >= 2 * limit + 100) first = sorted().slice(0, limit)
    },
    sorted,
    total: () => total,
  }
}
