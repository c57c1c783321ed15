import {
  type Amount,
  amountSource,
  check,
  type IntegrityChecks,
  lookup,
  type Recount,
} from '../integrity/checks.ts'
import { readable, repairMembers } from '../integrity/repair-record.ts'
import {
  assignments,
  dailyUsages,
  groups,
  jobs,
  ledgerEntries,
  ownerUsages,
  type RepositoryUsage,
  repositoryUsages,
  rules,
} from '../records/schema/index.ts'
import type { WriteTransaction } from '../storage/driver.ts'
import { today } from './history.ts'
import { countedAs, type ListedKind } from './ledger.ts'
import { noUsage } from './subjects.ts'

const ownerOfContainer = lookup(repositoryUsages, (container) => container.owner)
/** What is gone with its container, and not swept yet: see lib/records/jobs.ts. */
const sweptContainer = lookup(
  jobs,
  () => 1,
  ({ kind, id }) => (kind === 'entries' ? id : undefined),
)
const lastDay = lookup(ownerUsages, ({ day }) => day)
const largestKept = {
  attachments: lookup(repositoryUsages, ({ largest }) => largest.attachments ?? -1),
  artifacts: lookup(repositoryUsages, ({ largest }) => largest.artifacts ?? -1),
  packages: lookup(repositoryUsages, ({ largest }) => largest.packages ?? -1),
}
const group = lookup(groups, () => 1)
const rule = lookup(rules, () => 1)

const members = <T extends object>(of: T): (keyof T & string)[] => Object.keys(of) as (keyof T & string)[]

const sizes: Pick<RepositoryUsage, 'lfs' | 'issues' | 'releases' | 'artifacts' | 'packages'> = {
  lfs: 0,
  issues: 0,
  releases: 0,
  artifacts: 0,
  packages: 0,
}

const counted = { ...noUsage, days: 0 }

/** "Usage is counted in the transaction that changes it": here it is summed, to prove it. */
const usage: Recount = {
  name: 'usage of owner',
  counted: [
    amountSource(repositoryUsages, (one) => [
      [[one.owner, one.private ? 'reposPrivate' : 'reposPublic'], one.git],
      ...members(sizes).map((kind): Amount => [[one.owner, kind], one[kind]]),
    ]),
    amountSource(ledgerEntries, (entry) =>
      entry.container === null ? [[[entry.owner!, countedAs(entry)], entry.size]] : [],
    ),
    amountSource(dailyUsages, (one) => [[[one.owner, 'days'], 1]]),
  ],
  stored: [
    amountSource(ownerUsages, (one) =>
      members(counted).map((kind): Amount => [[one.owner, kind], one[kind]]),
    ),
  ],
  async repair(tx, [owner, kind], amount) {
    const before = (await ownerUsages.get(tx, [owner!])) ?? {
      owner: owner as number,
      ...noUsage,
      day: today(),
      days: 0,
    }
    await ownerUsages.save(tx, { ...before, [kind as keyof typeof counted]: amount })
    return true
  },
}

const tallies: Recount = {
  name: 'usage within repository',
  counted: [
    amountSource(ledgerEntries, (entry, known) =>
      entry.container === null || known(ownerOfContainer, entry.container) === undefined
        ? []
        : [
            [[entry.container, countedAs(entry)], entry.size],
            [[entry.container, entry.owner === null ? 'kept' : 'lent'], 1],
          ],
    ),
  ],
  stored: [
    amountSource(repositoryUsages, (one) =>
      members(contents).map((what): Amount => [[one.id, what], one[what]]),
    ),
  ],
  repair: (tx, [id, what], amount) =>
    repairMembers(tx, repositoryUsages, [id!], { [what as keyof typeof contents]: amount }),
}
const contents = { ...sizes, lent: 0, kept: 0 }

const raiseLargest = async (
  tx: WriteTransaction,
  id: number,
  kind: ListedKind,
  size: number,
): Promise<boolean> => {
  const container = await readable(tx, repositoryUsages, [id])
  if (container === undefined || container === 'broken') return false
  const largest = { ...container.largest, [kind]: Math.max(container.largest[kind] ?? 0, size) }
  await repositoryUsages.save(tx, { ...container, largest })
  return true
}

/** What the quota engine derives, for `verify`. It knows owners and repositories by their numbers only. */
export const quotaIntegrity: IntegrityChecks = {
  derived: [ownerUsages.options.name, repositoryUsages.options.name],
  lookups: [ownerOfContainer, sweptContainer, lastDay, ...Object.values(largestKept), group, rule],
  recounts: [usage, tallies],
  checks: [
    check(ledgerEntries, ({ kind, key, owner, container }, known) => {
      if (container === null) return []
      const target = known(ownerOfContainer, container)
      const entry = `the ledger entry ${kind} ${JSON.stringify(key)}`
      if (target === undefined)
        return known(sweptContainer, container) === undefined
          ? [{ message: `${entry} is in repository ${container}, which has no tally` }]
          : []
      return owner === null || target === owner
        ? []
        : [{ message: `${entry} counts for ${owner}, and its repository for ${target}` }]
    }),
    check(ledgerEntries, ({ kind, key, owner, container, size }, known) => {
      if (owner !== null || kind === 'lfs') return []
      const largest = known(largestKept[kind], container!)
      if (largest === undefined || largest >= size) return []
      const entry = `the ledger entry ${kind} ${JSON.stringify(key)}`
      return [
        {
          message: `${entry} has ${size} bytes, and the largest that repository ${container} keeps is said to have ${largest}`,
          repair: (tx) => raiseLargest(tx, container!, kind, size),
        },
      ]
    }),
    check(dailyUsages, ({ owner, day }, known) => {
      const last = known(lastDay, owner)
      return last === undefined || day < last
        ? []
        : [
            {
              message: `the usage of owner ${owner} is kept for day ${day}, and it changed last on day ${last}`,
            },
          ]
    }),
    check(jobs, ({ kind, id }, known) =>
      kind === 'entries' && known(ownerOfContainer, id) !== undefined
        ? [{ message: `the entries of repository ${id} are to be removed, and it is still there` }]
        : [],
    ),
    check(assignments, (one, known) =>
      known(group, one.group) === undefined
        ? [{ message: `owner ${one.owner} is assigned the group ${one.group}, which does not exist` }]
        : [],
    ),
    check(groups, (one, known) =>
      one.rules
        .filter((name) => known(rule, name) === undefined)
        .map((name) => ({ message: `the group ${one.name} has the rule ${name}, which does not exist` })),
    ),
  ],
}
