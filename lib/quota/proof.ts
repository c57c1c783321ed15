import { amend, readable } from '../records/proof/amend.ts'
import { type Amount, claim, fact, look, type Proof, type Recount } from '../records/proof/declare.ts'
import {
  assignments,
  type Container,
  containers,
  errands,
  groups,
  ledgerEntries,
  ownerUsages,
  pastUsages,
  rules,
} from '../records/schema.ts'
import type { WriteTransaction } from '../storage/driver.ts'
import { today } from './days.ts'
import { countedAs, type ListedKind } from './ledger.ts'
import { noUsage } from './subjects.ts'

const ownerOfContainer = fact(containers, (container) => container.owner)
/** What is gone with its container, and not swept yet: see lib/records/errands.ts. */
const sweptContainer = fact(
  errands,
  () => 1,
  ({ kind, id }) => (kind === 'entries' ? id : undefined),
)
const lastDay = fact(ownerUsages, ({ day }) => day)
const largestKept = {
  attachments: fact(containers, ({ largest }) => largest.attachments ?? -1),
  artifacts: fact(containers, ({ largest }) => largest.artifacts ?? -1),
  packages: fact(containers, ({ largest }) => largest.packages ?? -1),
}
const group = fact(groups, () => 1)
const rule = fact(rules, () => 1)

const members = <T extends object>(of: T): (keyof T & string)[] => Object.keys(of) as (keyof T & string)[]

const sizes: Pick<Container, 'lfs' | 'issues' | 'releases' | 'artifacts' | 'packages'> = {
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
    claim(containers, (one) => [
      [[one.owner, one.private ? 'reposPrivate' : 'reposPublic'], one.git],
      ...members(sizes).map((kind): Amount => [[one.owner, kind], one[kind]]),
    ]),
    claim(ledgerEntries, (entry) =>
      entry.container === null ? [[[entry.owner!, countedAs(entry)], entry.size]] : [],
    ),
    claim(pastUsages, (one) => [[[one.owner, 'days'], 1]]),
  ],
  kept: [claim(ownerUsages, (one) => members(counted).map((kind): Amount => [[one.owner, kind], one[kind]]))],
  async mend(tx, [owner, kind], amount) {
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
    claim(ledgerEntries, (entry, known) =>
      entry.container === null || known(ownerOfContainer, entry.container) === undefined
        ? []
        : [
            [[entry.container, countedAs(entry)], entry.size],
            [[entry.container, entry.owner === null ? 'kept' : 'lent'], 1],
          ],
    ),
  ],
  kept: [claim(containers, (one) => members(contents).map((what): Amount => [[one.id, what], one[what]]))],
  mend: (tx, [id, what], amount) => amend(tx, containers, [id!], { [what as keyof typeof contents]: amount }),
}
const contents = { ...sizes, lent: 0, kept: 0 }

const raiseLargest = async (
  tx: WriteTransaction,
  id: number,
  kind: ListedKind,
  size: number,
): Promise<boolean> => {
  const container = await readable(tx, containers, [id])
  if (container === undefined || container === 'broken') return false
  const largest = { ...container.largest, [kind]: Math.max(container.largest[kind] ?? 0, size) }
  await containers.save(tx, { ...container, largest })
  return true
}

/** What the quota engine derives, for `verify`. It knows owners and repositories by their numbers only. */
export const quotaProof: Proof = {
  derived: [ownerUsages.options.name, containers.options.name],
  facts: [ownerOfContainer, sweptContainer, lastDay, ...Object.values(largestKept), group, rule],
  recounts: [usage, tallies],
  looks: [
    look(ledgerEntries, ({ kind, key, owner, container }, known) => {
      if (container === null) return []
      const holder = known(ownerOfContainer, container)
      const entry = `the ledger entry ${kind} ${JSON.stringify(key)}`
      if (holder === undefined)
        return known(sweptContainer, container) === undefined
          ? [{ says: `${entry} is in repository ${container}, which has no tally` }]
          : []
      return owner === null || holder === owner
        ? []
        : [{ says: `${entry} counts for ${owner}, and its repository for ${holder}` }]
    }),
    look(ledgerEntries, ({ kind, key, owner, container, size }, known) => {
      if (owner !== null || kind === 'lfs') return []
      const largest = known(largestKept[kind], container!)
      if (largest === undefined || largest >= size) return []
      const entry = `the ledger entry ${kind} ${JSON.stringify(key)}`
      return [
        {
          says: `${entry} has ${size} bytes, and the largest that repository ${container} keeps is said to have ${largest}`,
          mend: (tx) => raiseLargest(tx, container!, kind, size),
        },
      ]
    }),
    look(pastUsages, ({ owner, day }, known) => {
      const last = known(lastDay, owner)
      return last === undefined || day < last
        ? []
        : [{ says: `the usage of owner ${owner} is kept for day ${day}, and it changed last on day ${last}` }]
    }),
    look(errands, ({ kind, id }, known) =>
      kind === 'entries' && known(ownerOfContainer, id) !== undefined
        ? [{ says: `the entries of repository ${id} are to be removed, and it is still there` }]
        : [],
    ),
    look(assignments, (one, known) =>
      known(group, one.group) === undefined
        ? [{ says: `owner ${one.owner} is assigned the group ${one.group}, which does not exist` }]
        : [],
    ),
    look(groups, (one, known) =>
      one.rules
        .filter((name) => known(rule, name) === undefined)
        .map((name) => ({ says: `the group ${one.name} has the rule ${name}, which does not exist` })),
    ),
  ],
}
