import { compare, type Sum } from '../integers.ts'
import type { ReadTransaction } from '../storage/driver.ts'
import { bindingLimit, type LimitStatus } from './evaluate.ts'
import { groupResolver, readPolicy } from './policy.ts'
import { scanOwners } from './scan.ts'
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
  /** Those with no more than this share of their limit left are listed too: from 0 to 1. */
  within?: number | undefined
}

/** Owners that are over, and those near it when asked for: the largest excess first, which is the least left. */
export const listOverQuota = async (
  tx: ReadTransaction,
  defaults: QuotaDefaults,
  { subject, within = 0 }: OverQuotaQuery,
  { offset, limit }: { offset: number; limit: number },
): Promise<{ items: OwnerOverQuota[]; total: number }> => {
  const judge = groupResolver(await readPolicy(tx, defaults))
  const top = topOf(offset + limit)
  for await (const { owner, usage, assigned } of scanOwners(tx)) {
    const room = bindingLimit(judge(assigned), subject, usage)
    if (room === undefined || room.remaining > Math.max(0, room.limit * within)) continue
    top.add({ owner, over: room.remaining <= 0, used: usedBy(subject, usage), ...room })
  }
  return { items: top.sorted().slice(offset, offset + limit), total: top.total }
}

/** Keeps the first so many of what is added, in an order, and counts all of it. */
const topOf = (most: number) => {
  let kept: OwnerOverQuota[] = []
  const top = {
    total: 0,
    add(one: OwnerOverQuota) {
      top.total++
      kept.push(one)
      if (kept.length >= 2 * most + 100) kept = top.sorted().slice(0, most)
    },
    sorted: () =>
      kept.sort((one, other) => compare(one.remaining, other.remaining) || one.owner - other.owner),
  }
  return top
}
