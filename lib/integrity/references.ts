/** Checks of what collections say that their records belong to (`belongsTo`). */

import type { Parent } from '../records/collection.ts'
import { wordsOf } from '../records/layout.ts'
import { type Belonging, belongings } from '../records/schema/belongings.ts'
import {
  accounts,
  comments,
  groups,
  hooks,
  issues,
  type Job,
  jobs,
  packageVersions,
  quotaOwners,
  releases,
  repositories,
  repositoryUsages,
  teams,
} from '../records/schema/index.ts'
import { type Check, type CheckedStore, type CollectionOf, check } from './checks.ts'

/** Where a parent is, and the jobs that remove what belonged to it: until then, records may refer to it. */
const PARENTS: Record<Parent, { in: readonly CollectionOf<unknown>[]; jobs: readonly Job['kind'][] }> = {
  account: { in: [accounts], jobs: ['removeAccountData'] },
  organization: { in: [accounts], jobs: ['removeAccountData'] },
  owner: { in: [accounts, quotaOwners], jobs: ['removeAccountData'] },
  team: { in: [teams], jobs: [] },
  repository: { in: [repositories], jobs: ['removeRepositoryContents'] },
  repositoryUsage: { in: [repositoryUsages], jobs: ['removeLedgerEntries'] },
  issue: { in: [issues], jobs: ['removeComments'] },
  comment: { in: [comments], jobs: [] },
  release: { in: [releases], jobs: [] },
  packageVersion: { in: [packageVersions], jobs: ['removePackageFiles'] },
  hook: { in: [hooks], jobs: ['removeDeliveries'] },
  group: { in: [groups], jobs: ['removeAssignments'] },
}

/** The jobs of all parents. `owner` comes after `account`, so that it is the parent of their common job. */
const REMOVALS = new Map(
  Object.entries(PARENTS).flatMap(([parent, { jobs }]) => jobs.map((kind) => [kind, parent as Parent])),
)

export const exists = async (store: CheckedStore, parent: Parent, id: number): Promise<boolean> => {
  for (const collection of PARENTS[parent].in) if (await store.has(collection, [id])) return true
  return false
}

/** Whether the parent exists, or a job is removing what belonged to it. */
export const isKnown = async (store: CheckedStore, parent: Parent, id: number): Promise<boolean> => {
  if (await exists(store, parent, id)) return true
  for (const kind of PARENTS[parent].jobs) if (await store.isPending(kind, id)) return true
  return false
}

const checkOf = ({ collection, to, idOf }: Belonging) =>
  check(collection, async (record, store) => {
    const id = idOf(record)
    if (id === undefined || (await isKnown(store, to, id))) return
    const { name } = collection.options
    const label = `${wordsOf(name)} ${collection.options.id(record).join(' ')}`
    store.report(`the ${label} belongs to ${wordsOf(to)} ${id}, which does not exist`)
  })

/** Check that what records belong to exists, and that what jobs finish to remove does not. */
export const referenceChecks: readonly Check[] = [
  ...belongings.map(checkOf),
  check(jobs, async ({ kind, id }, store) => {
    const parent = REMOVALS.get(kind)
    if (parent !== undefined && (await exists(store, parent, id)))
      store.report(`a job removes what belonged to ${wordsOf(parent)} ${id}, which still exists`)
  }),
]
