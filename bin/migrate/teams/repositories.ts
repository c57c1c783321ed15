import type { Account, MigrationRecord } from '../../../lib/records/schema/index.ts'
import { type Migration, OPERATOR } from '../migration.ts'
import { textOf } from '../names/index.ts'
import { type ExistenceSubject, REVOKED_FROM_TEAM, synchronize } from '../synchronize.ts'
import { ownTeam } from './copies.ts'
import type { TeamRights } from './rights.ts'

/** Copies which repositories the teams of an organization have rights on. */
export const copyTeamRepositories = async (
  migration: Migration,
  organization: Account,
  teams: readonly TeamRights[],
): Promise<void> => {
  const { allot, names } = migration
  const { teamRepositories } = allot.hosting
  const owner = names.keyHere(organization)
  for (const one of await names.keysOfTeams(owner, teams)) {
    const { team } = one
    const here = await ownTeam(migration, organization, one)
    if (here === undefined || here.allRepositories || team.repositories === undefined) continue
    // The records name repositories without their first owner, where that is the organization.
    const find = (name: string) => names.repositoryWithKey(name.includes('/') ? name : `${owner}/${name}`)
    const path = async (name: string) => ({
      owner: organization.name,
      name: (await find(name))?.name ?? name,
    })
    const ends = async (name: string) => {
      const repository = await find(name)
      return repository?.owner === organization.id ? { of: here.id, to: repository.id } : undefined
    }
    const subject: ExistenceSubject = {
      kind: 'teamRepository',
      scope: `${owner}/${one.key}`,
      ends,
      find: async (name) =>
        (await teamRepositories.find(OPERATOR, here.id, await path(name))) && (await ends(name)),
      remove: async (name) => void (await teamRepositories.remove(OPERATOR, here.id, await path(name))),
    }
    const wanted = [...team.repositories].map((label) => {
      const key = names.repositoryKey(team.organization, label)
      const name = key.scope === owner ? key.name : textOf(key)
      const create = async () => teamRepositories.add(OPERATOR, here.id, await path(name))
      return { name, label, create }
    })
    await synchronize(migration, subject, wanted)
  }
}

/**
 * Takes a repository out of the teams that it was copied into. A team that is for all repositories now keeps
 * it.
 */
export const removeFromTeams = async (migration: Migration, id: number): Promise<void> => {
  for (const record of await migration.migrationLog.list('teamRepository'))
    if (record.copy?.to === id) await removeRepository(migration, record)
}

/** Takes a copied repository out of its team. */
export const removeRepository = async (
  { allot, migrationLog, names, report }: Migration,
  record: MigrationRecord,
): Promise<void> => {
  const { of: team, to } = record.copy ?? {}
  if (team === undefined || to === undefined) return
  const repository = await allot.hosting.repositories.byId(to)
  const path = repository && (await names.addressOf(repository))
  const found = path && (await allot.hosting.teams.find(OPERATOR, team))
  const isListed = found?.team?.allRepositories === false
  if (isListed && (await allot.hosting.teamRepositories.remove(OPERATOR, team, path!)))
    report.note('revoked', REVOKED_FROM_TEAM, `${record.name} (${record.scope})`)
  await migrationLog.remove([record])
}
