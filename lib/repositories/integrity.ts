import { type Check, check, exists, type Recount, readIfValid, repairMembers } from '../integrity/index.ts'
import {
  noLedgerEntries,
  RELATIONS,
  type Relation,
  type Repository,
  repositories,
  repositoryUsages,
} from '../records/schema/index.ts'

/** A member of repositories that is counted again. */
const countOn = (name: string, member: keyof Repository): Recount => ({
  name,
  repair: (tx, id, amount) => repairMembers(tx, repositories, id, { [member]: amount }),
})

const forks = countOn('number of forks of repository', 'forks')
const lfsSize = countOn('LFS size of repository', 'lfs')

/** The quota engine has a usage record of every repository, with the same owner, privacy and size. */
const usageRecord: Recount = {
  name: 'usage record of repository',
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

const relationChecks = RELATIONS.flatMap(({ collection: relations, count }) => {
  const recount = countOn(`number of ${count} of repository`, count)
  return [
    check(repositories, (repository, store) => store.note(recount, [repository.id], repository[count])),
    check(relations, async ({ repository: id }: Relation, store) => {
      if (await exists(store, 'repository', id)) store.expect(recount, [id], 1)
    }),
  ]
})

/** Checks of what repositories and their relations derive from each other and from accounts. */
export const repositoryChecks: readonly Check[] = [
  check(repositories, async (repository, store) => {
    const { id, parent } = repository
    // Its forks become independent by a job.
    if (parent !== null && (await exists(store, 'repository', parent))) store.expect(forks, [parent], 1)
    store.note(forks, [id], repository.forks)
    store.note(lfsSize, [id], repository.lfs)
    store.expect(usageRecord, [id, 'owner'], repository.owner)
    store.expect(usageRecord, [id, 'private'], Number(repository.private))
    store.expect(usageRecord, [id, 'git'], repository.size)
  }),
  check(repositoryUsages, (usage, store) => {
    const { id } = usage
    store.expect(lfsSize, [id], usage.lfs)
    store.note(usageRecord, [id, 'owner'], usage.owner)
    store.note(usageRecord, [id, 'private'], Number(usage.private))
    store.note(usageRecord, [id, 'git'], usage.git)
  }),
  ...relationChecks,
]
