import type { ReadTransaction } from '../storage/driver.ts'
import { type Errand, errands } from './schema.ts'
import type { Change, Store } from './store.ts'

/**
 * Changes that concern very many records (the deletion of a repository with a million ledger entries, of an account with
 * a hundred thousand stars) are acknowledged at once and done in steps, so that they hold up nobody:
 *
 * 1. The change itself is one small write. It takes away what everything else is found by (the repository, its
 *    container, the account) and sets right every number that is answered from a counter of another owner.
 * 2. What cannot be reached any more, or is to be told something, is left to an **errand**: a record that is written in
 *    the same transaction. As much as one write may take is done within it, so that small changes leave no errand.
 * 3. A sweeper (sweeper.ts) does the rest in writes of their own, each of a bounded number of records, and takes the
 *    errand away with its last one. Steps look for what is left and need no memory of what was done: a restart, or a
 *    second process on a shared store, goes on where the last one was.
 *
 * Between 1 and 3 every answer must be what it will be afterwards. Each reader of what an errand leaves behind says how:
 * the ledger asks whether an entry still belongs to something (lib/quota/ledger.ts), lists of relations judge those that
 * an errand has not come to by the record itself (lib/hosting/unsettled.ts). Ids are never used twice, so a new
 * repository of the same name finds nothing of the old one.
 */
export interface Errands {
  readonly bounds: Bounds
  /** Says what is done for errands of a kind. */
  on(kind: Errand['kind'], work: Work): void
  workOf(kind: Errand['kind']): Work | undefined
  /** Does what may be done in this write, `bounds.inOne` at most, and leaves the rest. @returns how much was done */
  begin(tx: Change, kind: Errand['kind'], id: number, limit?: number): Promise<number>
  /** Leaves all of it. */
  leave(tx: Change, kind: Errand['kind'], id: number): Promise<void>
  /** Does what was left of it, step by step: for whoever has to answer when nothing is left. */
  finish(store: Store, kind: Errand['kind'], id: number): Promise<void>
}

/** How many records a write of a change may concern, and how many each write of the sweeper. */
export interface Bounds {
  inOne: number
  step: number
}

export interface Work {
  /** What is to be done outside of the store, before the first step. */
  before?(id: number): Promise<void>
  /** Does at most so much, in records; less than the limit means that nothing is left. @returns how much it did */
  step(tx: Change, id: number, limit: number): Promise<number>
}

/** @param left called when an errand has been left, after that is durable. */
export const createErrands = (bounds: Bounds, left: () => void): Errands => {
  const works = new Map<Errand['kind'], Work>()
  const workOf: Errands['workOf'] = (kind) => works.get(kind)
  const leave = async (tx: Change, kind: Errand['kind'], id: number) => {
    await errands.save(tx, { kind, id })
    tx.afterCommit(left)
  }
  return {
    bounds,
    on: (kind, work) => void works.set(kind, work),
    workOf,
    async begin(tx, kind, id, limit = bounds.inOne) {
      // Before the step, which may ask whether the errand is under way.
      await leave(tx, kind, id)
      const did = limit > 0 ? await workOf(kind)!.step(tx, id, limit) : 0
      if (did < limit) await errands.remove(tx, [kind, id])
      return did
    },
    leave,
    async finish(store, kind, id) {
      while (await store.write((tx) => advance(tx, workOf(kind)!, bounds.step, { kind, id })));
    },
  }
}

/** One step of an errand, if it is there still. @returns whether something is left */
export const advance = async (
  tx: Change,
  work: Work,
  limit: number,
  { kind, id }: Errand,
): Promise<boolean> => {
  if (!(await isUnderWay(tx, kind, id))) return false
  if ((await work.step(tx, id, limit)) >= limit) return true
  await errands.remove(tx, [kind, id])
  return false
}

export const isUnderWay = async (tx: ReadTransaction, kind: Errand['kind'], id: number): Promise<boolean> =>
  (await errands.get(tx, [kind, id])) !== undefined

/** The ids of all errands of a kind. */
export const underWay = async (tx: ReadTransaction, kind: Errand['kind']): Promise<number[]> => {
  if ((await errands.count(tx, 'kind', [kind])) === 0) return []
  return (await errands.list(tx, 'kind', { prefix: [kind] })).map((errand) => errand.id)
}
