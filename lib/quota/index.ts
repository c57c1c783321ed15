import type { LedgerEntry } from '../records/schema.ts'
import type { Change, Store } from '../records/store.ts'
import { type Containers, createContainers } from './containers.ts'
import { isWithin } from './evaluate.ts'
import { explain, type QuotaExplanation } from './explain.ts'
import { createGroups, type Groups, unassignAll } from './groups.ts'
import { createLedger, type Ledger, type ListedKind } from './ledger.ts'
import { createRules, type Rules } from './rules.ts'
import { createStandings, type QuotaDefaults, type Standing } from './standing.ts'
import type { Subject } from './subjects.ts'
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
  /** Usage and groups of an owner; the answer itself when it is memoized. */
  standing(owner: number): Standing | Promise<Standing>
  /** "Whether the user is over quota for that subject." */
  isOver(owner: number, subject: Subject): boolean | Promise<boolean>
  explain(owner: number, subject: Subject): Promise<QuotaExplanation>
  /** A page of what counts, largest first, and how many there are in all. */
  used(
    owner: number,
    kind: ListedKind,
    at: { offset: number; limit: number },
  ): Promise<{ items: LedgerEntry[]; total: number }>
  /** Forgets an owner that is being deleted, whose containers are gone already. */
  forget(tx: Change, owner: number): Promise<void>
}

export const createQuota = (store: Store, defaults: QuotaDefaults): QuotaEngine => {
  const tally = createTally((owner) => standings.drop(owner))
  const standings = createStandings(store, tally, defaults)
  const ledger = createLedger(tally)

  return {
    rules: createRules(store, standings.dropAll),
    groups: createGroups(store, standings.dropAll),
    ledger,
    containers: createContainers(tally),
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
    used: (owner, kind, at) =>
      store.read(async (tx) => ({
        items: await ledger.list(tx, owner, kind, at),
        total: await ledger.count(tx, owner, kind),
      })),
    async forget(tx, owner) {
      await unassignAll(tx, owner)
      await ledger.removeOwned(tx, owner)
      await tally.forget(tx, owner)
    },
  }
}

const isOver = ({ groups, usage }: Standing, subject: Subject): boolean => !isWithin(groups, subject, usage)
