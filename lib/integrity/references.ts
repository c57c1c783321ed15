/** Checks of what collections say that their records belong to (`belongsTo`). */

import type { Parent } from '../records/collection.ts'
import { wordsOf } from '../records/layout.ts'
import { type Belonging, belongings } from '../records/schema/belongings.ts'
import {
  accounts,
  groups,
  hooks,
  issues,
  type Job,
  jobs,
  packageVersions,
  quotaOwners,
  repositories,
  repositoryUsages,
  teams,
} from '../records/schema/index.ts'
import { check, type Find, type IntegrityChecks, type Lookup, lookup, pendingJob } from './checks.ts'

const account = lookup(accounts)
const quotaOwner = lookup(quotaOwners)
const organization = lookup(
  accounts,
  () => 1,
  ({ kind }, id) => (kind === 'organization' ? id : undefined),
)
const repository = lookup(repositories)

/** Where a parent is, and the jobs that remove what belonged to it: until then, records may refer to it. */
const PARENTS: Record<Parent, { in: readonly Lookup[]; jobs: readonly Job['kind'][] }> = {
  account: { in: [account], jobs: ['removeAccountData'] },
  organization: { in: [organization], jobs: ['removeAccountData'] },
  owner: { in: [account, quotaOwner], jobs: ['removeAccountData'] },
  team: { in: [lookup(teams)], jobs: [] },
  repository: { in: [repository], jobs: ['removeRepositoryContents', 'removeRepositoryFiles'] },
  repositoryUsage: { in: [lookup(repositoryUsages)], jobs: ['removeLedgerEntries'] },
  issue: { in: [lookup(issues)], jobs: ['removeComments'] },
  packageVersion: { in: [lookup(packageVersions)], jobs: ['removePackageFiles'] },
  hook: { in: [lookup(hooks)], jobs: ['removeDeliveries'] },
  group: { in: [lookup(groups)], jobs: ['removeAssignments'] },
}

/** The jobs of all parents. `owner` comes after `account`, so that it is the parent of their common job. */
const REMOVALS = new Map(
  Object.entries(PARENTS).flatMap(([parent, { jobs }]) => jobs.map((kind) => [kind, parent as Parent])),
)
const pending = new Map([...REMOVALS.keys()].map((kind) => [kind, pendingJob(kind)]))

export const exists = (find: Find, parent: Parent, id: number): boolean =>
  PARENTS[parent].in.some((each) => find(each, id) !== undefined)

/** Whether the parent exists, or a job is removing what belonged to it. */
export const isKnown = (find: Find, parent: Parent, id: number): boolean =>
  exists(find, parent, id) || PARENTS[parent].jobs.some((kind) => find(pending.get(kind)!, id) !== undefined)

const checkOf = ({ collection, to, idOf }: Belonging) =>
  check(collection, (record, find, report) => {
    const id = idOf(record)
    if (id === undefined || isKnown(find, to, id)) return
    const { name } = collection.options
    const label = `${wordsOf(name)} ${collection.options.id(record).join(' ')}`
    report(`the ${label} belongs to ${wordsOf(to)} ${id}, which does not exist`)
  })

/** Checks that what records belong to exists, and that what jobs finish to remove does not. */
export const referenceIntegrity: IntegrityChecks = {
  recounts: [],
  checks: [
    ...belongings.map(checkOf),
    check(jobs, ({ kind, id }, find, report) => {
      const parent = REMOVALS.get(kind)
      if (parent !== undefined && exists(find, parent, id))
        report(`a job removes what belonged to ${wordsOf(parent)} ${id}, which still exists`)
    }),
  ],
}
