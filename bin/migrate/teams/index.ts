import type { Account } from '../../../lib/records/schema/index.ts'
import { Copies } from '../copies.ts'
import { type Migration, reportErrors } from '../migration.ts'
import type { TeamRights } from './rights.ts'
import { copyOfTeam, type Followed, membersOf, repositoriesOf, teamsOf } from './things.ts'

const LOWERED =
  'teams that only read code here, since they write to a repository with protected branches or tags at the source'
const CREATED_HERE = 'teams created here, which get nothing from the team of the same name at the source'

const withdraw = (migration: Migration, { things, items }: Followed) =>
  new Copies(migration, things).withdraw(items)
const give = (migration: Migration, { things, items }: Followed) => new Copies(migration, things).give(items)

/**
 * Takes from the teams of an organization what the source has withdrawn: whole teams, their rights, their
 * members and their repositories. One that was renamed there is another one.
 * @param teams without that of the owners; none when the organization was deleted
 */
export const withdrawTeams = async (
  migration: Migration,
  organization: Account,
  teams: readonly TeamRights[],
): Promise<void> => {
  await withdraw(migration, teamsOf(migration, organization, teams))
  for (const one of teams) {
    const here = await copyOfTeam(migration, organization, one)
    if (here === undefined) continue
    await withdraw(migration, membersOf(migration, organization, one, here))
    if (one.repositories !== undefined)
      await withdraw(migration, repositoriesOf(migration, organization, one, here))
  }
}

/** Gives the teams of an organization their rights, their members and their repositories. */
export const giveTeams = async (
  migration: Migration,
  organization: Account,
  teams: readonly TeamRights[],
): Promise<void> => {
  const { report, comparison } = migration
  await give(migration, teamsOf(migration, organization, teams))
  for (const one of teams) {
    const label = `${one.name} of ${organization.name}`
    if (one.isLowered) report.note('leftOut', LOWERED, label)
    await reportErrors(report, `the team ${label}`, async () => {
      const here = await copyOfTeam(migration, organization, one)
      if (here === undefined)
        return comparison === undefined ? report.note('differs', CREATED_HERE, label) : undefined
      await give(migration, membersOf(migration, organization, one, here))
      if (!here.allRepositories) await give(migration, repositoriesOf(migration, organization, one, here))
    })
  }
}
