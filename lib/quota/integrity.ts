import { today } from '../clock.ts'
import {
  amounts,
  check,
  type IntegrityChecks,
  lookup,
  type Recount,
  readIfValid,
  repairMembers,
} from '../integrity/index.ts'
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

const ownerOfRepository = lookup(repositoryUsages, ({ owner }) => owner)
const lastDay = lookup(ownerUsages, ({ day }) => day)
const NO_ENTRY = -1
const largestInOverflow = {
  attachments: lookup(repositoryUsages, ({ largest }) => largest.attachments ?? NO_ENTRY),
  artifacts: lookup(repositoryUsages, ({ largest }) => largest.artifacts ?? NO_ENTRY),
  packages: lookup(repositoryUsages, ({ largest }) => largest.packages ?? NO_ENTRY),
}
const rule = lookup(rules)

const namesOf = <T extends object>(members: T) => Object.keys(members) as (keyof T & string)[]
/**
 * The members that follow from ledger entries; lib/repositories/integrity.ts recounts the others, such as
 * `git`.
 */
const REPOSITORY_MEMBERS = namesOf({ ...noEntrySizes, inMain: 0, inOverflow: 0 })
const OWNER_MEMBERS = namesOf({ ...noUsage, earlierDays: 0 })

/** Sums the usage of owners again, which each change of a size changes in the same transaction. */
const usageOfOwners: Recount = {
  name: 'usage of owner',
  expected: [
    amounts(repositoryUsages, (repository, add) => {
      const usage = usageOfRepository(repository)
      for (const member of namesOf(usage)) add([repository.owner, member], usage[member])
    }),
    amounts(ledgerEntries, (entry, add) => {
      if (entry.repository === null) add([entry.partitionOwner!, countedAs(entry)], entry.size)
    }),
    amounts(dailyUsages, ({ owner }, add) => add([owner, 'earlierDays'], 1)),
  ],
  actual: [
    amounts(ownerUsages, (usage, add) => {
      for (const member of OWNER_MEMBERS) add([usage.owner, member], usage[member])
    }),
  ],
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

const usageOfRepositories: Recount = {
  name: 'usage of repository',
  expected: [
    amounts(ledgerEntries, (entry, add, find) => {
      const { repository, size } = entry
      if (repository === null || find(ownerOfRepository, repository) === undefined) return
      add([repository, countedAs(entry)], size)
      add([repository, entry.partitionOwner === null ? 'inOverflow' : 'inMain'], 1)
    }),
  ],
  actual: [
    amounts(repositoryUsages, (usage, add) => {
      for (const member of REPOSITORY_MEMBERS) add([usage.id, member], usage[member])
    }),
  ],
  repair: (tx, [id, member], amount) =>
    repairMembers(tx, repositoryUsages, [id!], { [member as string]: amount }),
}

const ledgerOwners = check(ledgerEntries, ({ kind, key, repository, partitionOwner }, find, report) => {
  if (repository === null) return
  const expected = find(ownerOfRepository, repository)
  const entry = `the ledger entry ${kind} ${JSON.stringify(key)}`
  if (expected !== undefined && partitionOwner !== null && partitionOwner !== expected)
    report(
      `${entry} is listed in the main partition of account ${partitionOwner}, but its repository belongs to account ${expected}`,
      (tx) => repairMembers(tx, ledgerEntries, [kind, key], { partitionOwner: expected }),
    )
})

const largestEntries = check(ledgerEntries, (entry, find, report) => {
  const { kind, key, repository, size } = entry
  if (entry.partitionOwner !== null || kind === 'lfs') return
  const largest = find(largestInOverflow[kind], repository!)
  if (largest === undefined || largest >= size) return
  report(
    `the ledger entry ${kind} ${JSON.stringify(key)} has ${size} bytes, but the largest of repository ${repository} is ${largest === NO_ENTRY ? 'none' : largest}`,
    async (tx) => {
      const usage = await readIfValid(tx, repositoryUsages, [repository!])
      if (usage === undefined || usage === 'broken') return false
      const right = { ...usage.largest, [kind]: Math.max(usage.largest[kind] ?? 0, size) }
      await repositoryUsages.save(tx, { ...usage, largest: right })
      return true
    },
  )
})

/**
 * Checks of the values that the quota engine derives. It knows owners and repositories by their ids alone.
 */
export const quotaIntegrity: IntegrityChecks = {
  derivedCollections: [ownerUsages.options.name, repositoryUsages.options.name],
  recounts: [usageOfOwners, usageOfRepositories],
  checks: [
    ledgerOwners,
    largestEntries,
    check(dailyUsages, ({ owner, day }, find, report) => {
      const last = find(lastDay, owner)
      if (last !== undefined && day >= last)
        report(`the history of owner ${owner} has day ${day}, but its usage last changed on day ${last}`)
    }),
    check(groups, ({ name, rules: names }, find, report) => {
      for (const each of names)
        if (find(rule, each) === undefined)
          report(`the group ${name} has the rule ${each}, which does not exist`)
    }),
  ],
}
