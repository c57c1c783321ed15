import { add } from '../integers.ts'
import { type OwnerUsage, ownerUsages } from '../records/schema/index.ts'
import type { WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/driver.ts'
import { recordDay, today } from './history.ts'
import { noUsage, type Usage } from './subjects.ts'

/** Bytes by kind to add to what an owner uses; negative to take away. */
export type UsageDelta = Partial<Usage>

export interface UsageCounters {
  of(tx: ReadTransaction, owner: number): Promise<Usage>
  /** Changes what the owner uses in the given transaction; what was memoized of the owner is dropped after the commit. */
  add(tx: WriteContext, owner: number, delta: UsageDelta): Promise<void>
  /** Forgets an owner that is deleted, who must use nothing any more. */
  forget(tx: WriteContext, owner: number): Promise<void>
}

/** What an owner used before a transaction, and after it. */
interface Moved {
  readonly before: Usage
  after: Usage
}

/** Told of each owner whose usage changed, once for each transaction and after it is durable, as far as that is known. */
export type UsageListener = (owner: number, before: Usage, after: Usage, isKnown: boolean) => void

export const createUsageCounters = (changed: UsageListener): UsageCounters => {
  const moved = new WeakMap<WriteContext, Map<number, Moved>>()

  const note = (tx: WriteContext, owner: number, before: Usage, after: Usage) => {
    const owners = moved.get(tx) ?? new Map<number, Moved>()
    moved.set(tx, owners)
    const noted = owners.get(owner)
    if (noted !== undefined) {
      noted.after = after
      return
    }
    const first: Moved = { before, after }
    owners.set(owner, first)
    tx.afterCommit((isKnown) => changed(owner, first.before, first.after, isKnown))
  }

  const of = async (tx: ReadTransaction, owner: number): Promise<Usage> =>
    usageIn(await ownerUsages.get(tx, [owner]))
  return {
    of,
    async add(tx, owner, delta) {
      const found = await ownerUsages.get(tx, [owner])
      const before = usageIn(found)
      const usage = sum(before, delta)
      const day = Math.max(found?.day ?? 0, today())
      const days = await recordDay(tx, found, day)
      await ownerUsages.save(tx, { owner, ...usage, day, days })
      note(tx, owner, before, usage)
    },
    async forget(tx, owner) {
      const before = await of(tx, owner)
      await ownerUsages.remove(tx, [owner])
      note(tx, owner, before, noUsage)
    },
  }
}

const usageIn = (found: OwnerUsage | undefined): Usage => {
  if (found === undefined) return noUsage
  const { owner: _, day: __, days: ___, ...usage } = found
  return usage
}

const sum = (usage: Usage, delta: UsageDelta): Usage => {
  const total = { ...usage }
  for (const kind of Object.keys(delta) as (keyof Usage)[]) total[kind] = add(total[kind], delta[kind] ?? 0)
  return total
}
