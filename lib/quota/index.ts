import type { Errands } from '../records/errands.ts'
import { ownerUsages, type PastUsage } from '../records/schema.ts'
import type { Change, Store } from '../records/store.ts'
import { type Containers, createContainers, removingEntries } from './containers.ts'
import { type Crossing, createCrossings } from './crossings.ts'
import { forgetDays, pastDays } from './days.ts'
import { isWithin } from './evaluate.ts'
import { explain, type QuotaExplanation } from './explain.ts'
import { createGroups, type Groups, unassignAll } from './groups.ts'
import { createLedger, type Ledger, type LfsChanged } from './ledger.ts'
import { listOver, type OverOwner, type OverQuery } from './over.ts'
import { createPlans, type Plans } from './plans.ts'
import { createRules, type Rules } from './rules.ts'
import { createStandings, type QuotaDefaults, type Standing } from './standing.ts'
import type { Subject, Usage } from './subjects.ts'
import { totalUsage } from './survey.ts'
import { createTally } from './tally.ts'

/**
 * The quota engine: it counts, and judges; it refuses nothing. Owners and containers (repositories) are numbers to it,
 * so that it can be used without the rest of the house.
 */
export interface QuotaEngine {
  readonly rules: Rules
  readonly groups: Groups
  readonly ledger: Ledger
  readonly containers: Containers
  readonly plans: Plans
  /** Usage and groups of an owner; the answer itself when it is memoized. */
  standing(owner: number): Standing | Promise<Standing>
  /** "Whether the user is over quota for that subject." */
  isOver(owner: number, subject: Subject): boolean | Promise<boolean>
  explain(owner: number, subject: Subject): Promise<QuotaExplanation>
  /** The owners that are over quota for a subject, and those near it when asked for: largest excess first. */
  over(
    query: OverQuery,
    at: { offset: number; limit: number },
  ): Promise<{ items: OverOwner[]; total: number }>
  /** What an owner used at the end of each day on which that changed, the oldest first, up to now. */
  growth(owner: number): Promise<PastUsage[]>
  /** What all owners use together. */
  totals(): Promise<Usage>
  /** Takes an owner that is being deleted out of every group. */
  forget(tx: Change, owner: number): Promise<void>
  /** Removes at most so many entries of such an owner, whose containers are gone already. @returns how many */
  clear(tx: Change, owner: number, limit: number): Promise<number>
  /** Resolves when every crossing of what is durable has been told. */
  idle(): Promise<void>
}

/** Whoever wants to hear of crossings. */
export interface CrossingListener {
  /** The share of a limit, between 0 and 1, that counts as near it. */
  share: number
  /** False while nobody listens: crossings then cost nothing. */
  isHeard: () => boolean
  tell: (crossing: Crossing) => void | Promise<void>
  failed: (error: unknown) => void
}

export const createQuota = (
  store: Store,
  errands: Errands,
  defaults: QuotaDefaults,
  listener: CrossingListener = nobody,
  lfsChanged: LfsChanged = async () => undefined,
): QuotaEngine => {
  const tally = createTally((owner, before, after, isKnown) => {
    standings.drop(owner)
    if (isKnown && listener.isHeard()) crossings.changed(owner, before, after)
  })
  const crossings = createCrossings((owner) => standings.of(owner), listener)
  const standings = createStandings(store, tally, defaults)
  const ledger = createLedger(tally, errands, lfsChanged)
  errands.on('entries', removingEntries)

  return {
    rules: createRules(store, standings.dropAll),
    groups: createGroups(store, standings.dropAll),
    ledger,
    containers: createContainers(tally, errands),
    plans: createPlans(store, defaults, standings.dropAll),
    standing: standings.of,
    isOver(owner, subject) {
      const standing = standings.of(owner)
      return standing instanceof Promise
        ? standing.then((it) => isOver(it, subject))
        : isOver(standing, subject)
    },
    async explain(owner, subject) {
      const { groups, usage } = await standings.of(owner)
      return explain(groups, subject, usage)
    },
    over: (query, at) => store.read((tx) => listOver(tx, defaults, query, at)),
    growth: (owner) =>
      store.read(async (tx) => [
        ...(await pastDays(tx, owner)),
        ...(await ownerUsages.getMany(tx, [[owner]])).filter((one) => one !== undefined),
      ]),
    totals: () => store.read(totalUsage),
    forget: unassignAll,
    async clear(tx, owner, limit) {
      const entries = await ledger.removeOwned(tx, owner, limit)
      const did = entries + (await forgetDays(tx, owner, limit - entries))
      if (did < limit) await tally.forget(tx, owner)
      return did
    },
    idle: crossings.idle,
  }
}

const nobody: CrossingListener = {
  share: 1,
  isHeard: () => false,
  tell: () => undefined,
  failed: () => undefined,
}

const isOver = ({ groups, usage }: Standing, subject: Subject): boolean => !isWithin(groups, subject, usage)
