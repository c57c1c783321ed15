import { add } from '../integers.ts'
import { type OwnerUsage, ownerUsages } from '../records/schema/index.ts'
import type { WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { recordDay, today } from './history.ts'
import { noUsage, type Usage } from './subjects.ts'

/** Bytes by kind to add to an owner's usage; negative to subtract. */
export type UsageDelta = Partial<Usage>

/** The usage of each owner, counted in the transaction that changes it. */
export interface UsageCounters {
  of(tx: ReadTransaction, owner: number): Promise<Usage>
  add(tx: WriteContext, owner: number, delta: UsageDelta): Promise<void>
  /** Removes the counter of a deleted owner, whose usage must be zero by then. */
  forget(tx: WriteContext, owner: number): Promise<void>
}

/**
 * Called once per owner and transaction, after the commit.
 * @param isKnown false when the outcome of the commit is not known
 */
type UsageListener = (owner: number, before: Usage, after: Usage, isKnown: boolean) => void

interface Change {
  readonly before: Usage
  after: Usage
}

export const createUsageCounters = (onChange: UsageListener): UsageCounters => {
  const changes = new WeakMap<WriteContext, Map<number, Change>>()

  const note = (tx: WriteContext, owner: number, before: Usage, after: Usage) => {
    const owners = changes.get(tx) ?? new Map<number, Change>()
    changes.set(tx, owners)
    const earlier = owners.get(owner)
    if (earlier !== undefined) {
      earlier.after = after
      return
    }
    const change: Change = { before, after }
    owners.set(owner, change)
    tx.afterCommit((isKnown) => onChange(owner, change.before, change.after, isKnown))
  }

  const of = async (tx: ReadTransaction, owner: number): Promise<Usage> =>
    usageIn(await ownerUsages.get(tx, [owner]))
  return {
    of,
    async add(tx, owner, delta) {
      const record = await ownerUsages.get(tx, [owner])
      const before = usageIn(record)
      const after = addDelta(before, delta)
      const day = Math.max(record?.day ?? 0, today())
      const days = await recordDay(tx, record, day)
      await ownerUsages.save(tx, { owner, ...after, day, days })
      note(tx, owner, before, after)
    },
    async forget(tx, owner) {
      const before = await of(tx, owner)
      await ownerUsages.remove(tx, [owner])
      note(tx, owner, before, noUsage)
    },
  }
}

export const usageIn = (record: OwnerUsage | undefined): Usage => {
  if (record === undefined) return noUsage
  const { owner: _, day: __, days: ___, ...usage } = record
  return usage
}

export const addDelta = (usage: Usage, delta: UsageDelta): Usage => {
  const sum = { ...usage }
  for (const kind of Object.keys(delta) as (keyof Usage)[]) sum[kind] = add(sum[kind], delta[kind] ?? 0)
  return sum
}
