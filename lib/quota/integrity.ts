import { createHash } from 'node:crypto'
import { today } from '../clock.ts'
import { type Check, type CheckedStore, check, type Recount, readIfValid } from '../integrity/index.ts'
import type { KeyTuple } from '../records/key-codec.ts'
import {
  dailyUsages,
  type FirstEntries,
  groups,
  ledgerEntries,
  noEntries,
  noEntrySizes,
  type OfKinds,
  ownerUsages,
  repositoryUsages,
  rules,
} from '../records/schema/index.ts'
import { countedAs, isBeforeRest } from './ledger.ts'
import { noUsage } from './subjects.ts'
import { usageOfRepository } from './usage.ts'

const namesOf = <T extends object>(members: T) => Object.keys(members) as (keyof T & string)[]
/**
 * The members that follow from ledger entries; lib/repositories/integrity.ts recounts the others, such as
 * `git`.
 */
const REPOSITORY_MEMBERS = namesOf(noEntrySizes)
const OWNER_MEMBERS = namesOf({ ...noUsage, earlierDays: 0 })

const KINDS = namesOf(noEntries)

/** @param path the name of a member, and in `entries` a kind */
const withAmount = <T extends { readonly entries: OfKinds }>(
  usage: T,
  [member, kind]: KeyTuple,
  amount: number,
): T =>
  member === 'entries'
    ? { ...usage, entries: { ...usage.entries, [kind as string]: amount } }
    : { ...usage, [member as string]: amount }

/** The usage of owners, which each change of a size changes in the same transaction. */
const ownerUsage: Recount = {
  name: 'usage of owner',
  async repair(tx, [owner, ...path], amount) {
    const usage = (await ownerUsages.get(tx, [owner!])) ?? {
      ...noUsage,
      owner: owner as number,
      entries: noEntries,
      day: today(),
      earlierDays: 0,
    }
    await ownerUsages.save(tx, withAmount(usage, path, amount))
    return true
  },
}

const repositoryUsage: Recount = {
  name: 'usage of repository',
  async repair(tx, [id, ...path], amount) {
    const usage = await readIfValid(tx, repositoryUsages, [id!])
    if (usage === undefined || usage === 'broken') return false
    await repositoryUsages.save(tx, withAmount(usage, path, amount))
    return true
  },
}

/** A repair names no entry. */
const allInRest: FirstEntries = { first: [], rest: { size: Number.MAX_SAFE_INTEGER, name: '', key: '' } }

/** Sums of digests, so that memory does not grow with the entries when none is named. */
const firstOfRepository: Recount = {
  name: 'digest of the largest entries of repository',
  async repair(tx, [id, kind]) {
    const usage = await readIfValid(tx, repositoryUsages, [id!])
    if (usage === undefined || usage === 'broken') return false
    const largest = { ...usage.largest, [kind as string]: allInRest }
    await repositoryUsages.save(tx, { ...usage, largest })
    return true
  },
}

const digestOf = ({ size, name, key }: FirstEntries['first'][number]): number => {
  const place = JSON.stringify([size, name, key])
  return createHash('sha256').update(place).digest().readUInt32BE()
}

/** The usage of a repository counts its entries, and names those before the rest of their kind. */
const entryOfRepository = check(ledgerEntries, async (entry, store) => {
  const { kind, size, repository: id } = entry
  const usage = id === null ? undefined : await store.load(repositoryUsages, [id])
  if (usage === undefined) return
  store.expect(repositoryUsage, [usage.id, countedAs(entry)], size)
  store.expect(repositoryUsage, [usage.id, 'entries', kind], 1)
  if (isBeforeRest(usage.largest[kind], entry))
    store.expect(firstOfRepository, [usage.id, kind], digestOf(entry))
})

/** Whether a job removes what the owner had: the counters stay until it is done. */
const isLeaving = (store: CheckedStore, owner: number) => store.isPending('removeAccountData', owner)

/**
 * Checks of the values that the quota engine derives. It knows owners and repositories by their ids alone.
 */
export const quotaChecks: readonly Check[] = [
  entryOfRepository,
  check(ledgerEntries, async (entry, store) => {
    if (entry.owner === null || (await isLeaving(store, entry.owner))) return
    store.expect(ownerUsage, [entry.owner, countedAs(entry)], entry.size)
    store.expect(ownerUsage, [entry.owner, 'entries', entry.kind], 1)
  }),
  check(repositoryUsages, async (repository, store) => {
    const { id, owner, entries, largest } = repository
    for (const member of REPOSITORY_MEMBERS) store.note(repositoryUsage, [id, member], repository[member])
    for (const kind of KINDS) {
      store.note(repositoryUsage, [id, 'entries', kind], entries[kind])
      for (const place of largest[kind]?.first ?? [])
        store.note(firstOfRepository, [id, kind], digestOf(place))
    }
    if (await isLeaving(store, owner)) return
    const usage = usageOfRepository(repository)
    for (const member of namesOf(usage)) store.expect(ownerUsage, [owner, member], usage[member])
    for (const kind of KINDS) store.expect(ownerUsage, [owner, 'entries', kind], entries[kind])
  }),
  check(ownerUsages, async (usage, store) => {
    if (await isLeaving(store, usage.owner)) return
    for (const member of OWNER_MEMBERS) store.note(ownerUsage, [usage.owner, member], usage[member])
    for (const kind of KINDS) store.note(ownerUsage, [usage.owner, 'entries', kind], usage.entries[kind])
  }),
  check(dailyUsages, async ({ owner, day }, store) => {
    if (await isLeaving(store, owner)) return
    store.expect(ownerUsage, [owner, 'earlierDays'], 1)
    const last = (await store.load(ownerUsages, [owner]))?.day
    if (last !== undefined && day >= last)
      store.report(`the history of owner ${owner} has day ${day}, but its usage last changed on day ${last}`)
  }),
  check(groups, async ({ name, rules: names }, store) => {
    for (const each of names)
      if (!(await store.has(rules, [each])))
        store.report(`the group ${name} has the rule ${each}, which does not exist`)
  }),
]
