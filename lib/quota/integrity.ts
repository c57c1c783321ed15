import { today } from '../clock.ts'
import { type Check, check, type Recount, readIfValid, repairMembers } from '../integrity/index.ts'
import {
  dailyUsages,
  groups,
  ledgerEntries,
  noEntrySizes,
  ownerUsages,
  repositoryUsages,
  rules,
} from '../records/schema/index.ts'
import { countedAs } from './ledger.ts'
import { noUsage } from './subjects.ts'
import { usageOfRepository } from './usage.ts'

const namesOf = <T extends object>(members: T) => Object.keys(members) as (keyof T & string)[]
/**
 * The members that follow from ledger entries; lib/repositories/integrity.ts recounts the others, such as
 * `git`.
 */
const REPOSITORY_MEMBERS = namesOf({ ...noEntrySizes, inMain: 0, inOverflow: 0 })
const OWNER_MEMBERS = namesOf({ ...noUsage, earlierDays: 0 })

/** The usage of owners, which each change of a size changes in the same transaction. */
const ownerUsage: Recount = {
  name: 'usage of owner',
  async repair(tx, [owner, member], amount) {
    const usage = (await ownerUsages.get(tx, [owner!])) ?? {
      ...noUsage,
      owner: owner as number,
      day: today(),
      earlierDays: 0,
    }
    await ownerUsages.save(tx, { ...usage, [member as string]: amount })
    return true
  },
}

const repositoryUsage: Recount = {
  name: 'usage of repository',
  repair: (tx, [id, member], amount) =>
    repairMembers(tx, repositoryUsages, [id!], { [member as string]: amount }),
}

/** An entry of a repository is in the main partition of its owner, or not above the largest elsewhere. */
const entryOfRepository = check(ledgerEntries, async (entry, store) => {
  const { kind, key, repository, partitionOwner, size } = entry
  const usage = repository === null ? undefined : await store.load(repositoryUsages, [repository])
  if (usage === undefined) return
  store.expect(repositoryUsage, [usage.id, countedAs(entry)], size)
  store.expect(repositoryUsage, [usage.id, partitionOwner === null ? 'inOverflow' : 'inMain'], 1)
  const label = `the ledger entry ${kind} ${JSON.stringify(key)}`
  const { owner } = usage
  if (partitionOwner !== null && partitionOwner !== owner)
    store.report(
      `${label} is listed in the main partition of account ${partitionOwner}, but its repository belongs to account ${owner}`,
      (tx) => repairMembers(tx, ledgerEntries, [kind, key], { partitionOwner: owner }),
    )
  if (partitionOwner !== null || kind === 'lfs') return
  const largest = usage.largest[kind]
  if (largest !== null && largest >= size) return
  store.report(
    `${label} has ${size} bytes, but the largest of repository ${repository} is ${largest ?? 'none'}`,
    async (tx) => {
      const now = await readIfValid(tx, repositoryUsages, [usage.id])
      if (now === undefined || now === 'broken') return false
      const right = { ...now.largest, [kind]: Math.max(now.largest[kind] ?? 0, size) }
      await repositoryUsages.save(tx, { ...now, largest: right })
      return true
    },
  )
})

/**
 * Checks of the values that the quota engine derives. It knows owners and repositories by their ids alone.
 */
export const quotaChecks: readonly Check[] = [
  entryOfRepository,
  check(ledgerEntries, (entry, store) => {
    if (entry.repository === null)
      store.expect(ownerUsage, [entry.partitionOwner!, countedAs(entry)], entry.size)
  }),
  check(repositoryUsages, (repository, store) => {
    const usage = usageOfRepository(repository)
    for (const member of namesOf(usage)) store.expect(ownerUsage, [repository.owner, member], usage[member])
    for (const member of REPOSITORY_MEMBERS)
      store.note(repositoryUsage, [repository.id, member], repository[member])
  }),
  check(ownerUsages, (usage, store) => {
    for (const member of OWNER_MEMBERS) store.note(ownerUsage, [usage.owner, member], usage[member])
  }),
  check(dailyUsages, async ({ owner, day }, store) => {
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
