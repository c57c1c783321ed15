import { audienceWithin } from '../accounts/access.ts'
import { findAudience } from '../accounts/integrity.ts'
import {
  amounts,
  check,
  exists,
  type IntegrityChecks,
  lookup,
  pendingJob,
  type Recount,
  readIfValid,
  repairMembers,
} from '../integrity/index.ts'
import {
  type Audience,
  type CountedRelation,
  noLedgerEntries,
  RELATIONS,
  type Relation,
  type RelationCollection,
  repositories,
  repositoryUsages,
} from '../records/schema/index.ts'

const repositoryAudience = lookup(repositories, ({ audience }) => audience)
const pendingRelations = pendingJob('updateRelations')

const repositoryChecks = check(repositories, (repository, find, report) => {
  const { id, owner, audience } = repository
  const ownerAudience = findAudience(find, owner)
  if (ownerAudience === undefined) return
  const expected = audienceWithin(ownerAudience, repository.private)
  if (expected !== audience)
    report(`repository ${id} has the audience ${audience}, but must have ${expected}`, (tx) =>
      repairMembers(tx, repositories, [id], { audience: expected }),
    )
})

const relationChecks = (relations: RelationCollection) => {
  const { name } = relations.options
  return check(relations, ({ account, repository, audience }: Relation, find, report) => {
    // A job removes the relations of the repository, or gives them another audience.
    if (find(pendingRelations, repository) !== undefined) return
    const relation = `the ${name} of repository ${repository} by account ${account}`
    const expected = find(repositoryAudience, repository) as Audience | undefined
    if (expected === undefined) report(`${relation} is of a repository that does not exist`)
    else if (expected !== audience)
      report(`${relation} has the audience ${audience}, but must have ${expected}`, (tx) =>
        repairMembers(tx, relations, [account, repository], { audience: expected }),
      )
  })
}

const countOn = (
  member: CountedRelation['count'] | 'forks',
  expected: Recount['expected'][number],
): Recount => ({
  name: `number of ${member} of repository`,
  expected: [expected],
  actual: [amounts(repositories, (repository, add) => add([repository.id], repository[member]))],
  repair: (tx, id, amount) => repairMembers(tx, repositories, id, { [member]: amount }),
})

const relationsOf = (relations: RelationCollection) =>
  amounts(relations, ({ repository }: Relation, add, find) => {
    if (exists(find, 'repository', repository)) add([repository], 1)
  })

const lfsSize: Recount = {
  name: 'LFS size of repository',
  expected: [amounts(repositoryUsages, ({ id, lfs }, add) => add([id], lfs))],
  actual: [amounts(repositories, ({ id, lfs }, add) => add([id], lfs))],
  repair: (tx, id, amount) => repairMembers(tx, repositories, id, { lfs: amount }),
}

/** The quota engine has a usage record of every repository, with the same owner, privacy and size. */
const usageRecords: Recount = {
  name: 'usage record of repository',
  expected: [
    amounts(repositories, (repository, add) => {
      add([repository.id, 'owner'], repository.owner)
      add([repository.id, 'private'], repository.private ? 1 : 0)
      add([repository.id, 'git'], repository.size)
    }),
  ],
  actual: [
    amounts(repositoryUsages, (usage, add) => {
      add([usage.id, 'owner'], usage.owner)
      add([usage.id, 'private'], usage.private ? 1 : 0)
      add([usage.id, 'git'], usage.git)
    }),
  ],
  async repair(tx, [id]) {
    const repository = await readIfValid(tx, repositories, [id!])
    // The last known usage of a broken repository still counts.
    if (repository === 'broken') return false
    if (repository === undefined) return (await repositoryUsages.remove(tx, [id!])) !== undefined
    const { owner, private: isPrivate, size } = repository
    const usage = (await repositoryUsages.get(tx, [id!])) ?? { ...noLedgerEntries, id: repository.id }
    await repositoryUsages.save(tx, { ...usage, owner, private: isPrivate, git: size })
    return true
  },
}

/** Checks of what repositories and their relations derive from each other and from accounts. */
export const repositoriesIntegrity: IntegrityChecks = {
  recounts: [
    ...RELATIONS.map(({ collection, count }) => countOn(count, relationsOf(collection))),
    countOn(
      'forks',
      amounts(repositories, ({ parent }, add) => {
        if (parent !== null) add([parent], 1)
      }),
    ),
    usageRecords,
    lfsSize,
  ],
  checks: [repositoryChecks, ...RELATIONS.map(({ collection }) => relationChecks(collection))],
}
