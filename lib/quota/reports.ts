import { setImmediate } from 'node:timers/promises'
import { add, compare, type Sum } from '../integers.ts'
import { assignments, ownerUsages } from '../records/schema/index.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { bindingLimit, type LimitStatus } from './evaluate.ts'
import { groupResolver, type QuotaDefaults, readPolicy } from './status.ts'
import { noUsage, type Subject, type Usage, usedBy } from './subjects.ts'
import { usageIn } from './usage.ts'

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

/** Reads the ids of all owners in ascending order. */
export type OwnerIds = (tx: ReadTransaction) => AsyncIterable<number>

interface ScannedOwner {
  owner: number
  usage: Usage
  /** Names of the groups that are assigned to the owner. */
  assigned: string[]
}

/** Owners that are read between two turns of the event loop. */
const YIELD_EVERY = 200

/**
 * Reads every owner in ascending order of ids from one snapshot. The cost is constant for each owner, however many
 * repositories and ledger entries the owner has, because usage is counted per owner.
 */
export async function* scanOwners(tx: ReadTransaction, owners: OwnerIds): AsyncGenerator<ScannedOwner> {
  const usages = joinByOwner(ownerUsages.all(tx))
  const assigned = joinByOwner(assignments.all(tx))
  let count = 0
  try {
    for await (const owner of owners(tx)) {
      if (++count % YIELD_EVERY === 0) await setImmediate()
      const [usage] = await usages.of(owner)
      yield {
        owner,
        usage: usageIn(usage),
        assigned: (await assigned.of(owner)).map(({ group }) => group),
      }
    }
  } finally {
    await Promise.all([usages.end(), assigned.end()])
  }
}

/** Sum of the usage of all owners. */
export const totalUsage = async (tx: ReadTransaction, owners: OwnerIds): Promise<Usage> => {
  const total = { ...noUsage }
  for await (const { usage } of scanOwners(tx, owners))
    for (const kind of Object.keys(total) as (keyof Usage)[]) total[kind] = add(total[kind], usage[kind])
  return total
}

/** Merge join: reads records that are ordered by owner, for owners that are asked for in ascending order. */
const joinByOwner = <R extends { owner: number }>(records: AsyncIterable<R>) => {
  const iterator = records[Symbol.asyncIterator]()
  let next: IteratorResult<R> | undefined
  return {
    async of(owner: number): Promise<R[]> {
      const found: R[] = []
      next ??= await iterator.next()
      while (!next.done && next.value.owner <= owner) {
        if (next.value.owner === owner) found.push(next.value)
        next = await iterator.next()
      }
      return found
    },
    end: () => iterator.return?.(),
  }
}
