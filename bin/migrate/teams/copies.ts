import { allItems } from '../../../lib/records/pages.ts'
import type { Account, Team } from '../../../lib/records/schema/index.ts'
import { type Migration, OPERATOR } from '../migration.ts'
import type { KeyedTeam } from '../names/index.ts'
import type { ExistenceSubject } from '../synchronize.ts'
import type { TeamRights } from './rights.ts'

const CREATED_HERE = 'teams created here, which get nothing from the team of the same name at the source'

/** A team of the source that may have a copy. */
export type Keyed = KeyedTeam<TeamRights>

/**
 * The copy of a team, whatever its name is here; undefined when it was removed here. Reports another team of
 * this name that was created here.
 */
export const ownTeam = async (
  migration: Migration,
  organization: Account,
  one: Keyed,
): Promise<Team | undefined> => {
  const { names, report } = migration
  const copy = await copyWithKey(migration, names.keyHere(organization), one.key)
  if (copy === undefined && (await findByName(migration, organization, one.key, one.team.name)) !== undefined)
    report.note('differs', CREATED_HERE, `${one.team.name} of ${organization.name}`)
  return copy
}

/** @param scope key of the organization */
export const copyWithKey = async (
  { allot, migrationLog }: Migration,
  scope: string,
  key: string,
): Promise<Team | undefined> => {
  const id = (await migrationLog.get('team', scope, key))?.copy?.id
  return id === undefined ? undefined : (await allot.hosting.teams.find(OPERATOR, id))?.team
}

/** A team here with this name, unless it is the copy of another key. */
const findByName = async (
  { allot, migrationLog, names }: Migration,
  organization: Account,
  key: string,
  name: string,
): Promise<Team | undefined> => {
  const all = await allItems((slice) => allot.hosting.teams.list(OPERATOR, organization.name, slice))
  const found = all.find(({ team }) => team?.name.toLowerCase() === name.toLowerCase())?.team
  const known = await migrationLog.list('team', names.keyHere(organization))
  const isOther = known.some((record) => record.copy?.id === found?.id && record.name !== key)
  return isOther ? undefined : found
}

/** @param keyed the teams that the source has */
export const teamsOf = (
  migration: Migration,
  organization: Account,
  keyed: readonly Keyed[],
): ExistenceSubject => {
  const { allot, names } = migration
  const scope = names.keyHere(organization)
  return {
    kind: 'team',
    scope,
    ends: async () => ({ of: organization.id }),
    async find(key) {
      const name = keyed.find((one) => one.key === key)?.team.name ?? key
      const copy = await copyWithKey(migration, scope, key)
      const team = copy ?? (await findByName(migration, organization, key, name))
      return team && { id: team.id, of: organization.id }
    },
    remove: async (_, { id }) => void (await allot.hosting.teams.remove(OPERATOR, id!)),
  }
}
