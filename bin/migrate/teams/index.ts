import type { Account } from '../../../lib/records/schema/index.ts'
import { Copies } from '../copies.ts'
import { type Migration, reportErrors } from '../migration.ts'
import type { TeamRights } from './rights.ts'
import { copyOfTeam, membersOf, repositoriesOf, teamsOf } from './things.ts'

const LOWERED =
  'teams that only read code here, since they write to a repository with protected branches or tags at the source'
const CREATED_HERE = 'teams created here, which get nothing from the team of the same name at the source'

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
  const { things, items } = teamsOf(migration, organization, teams)
  await new Copies(migration, things).withdraw(items)
  for (const one of teams) {
    const here = await copyOfTeam(migration, things.scope, one)
    if (here === undefined) continue
    const [members, repositories] = [membersOf, repositoriesOf].map((of) =>
      of(migration, organization, one, here),
    )
    await new Copies(migration, members!.things).withdraw(members!.items)
    if (one.repositories !== undefined)
      await new Copies(migration, repositories!.things).withdraw(repositories!.items)
  }
}

/** Gives the teams of an organization their rights, their members and their repositories. */
export const giveTeams = async (
  migration: Migration,
  organization: Account,
  teams: readonly TeamRights[],
): Promise<void> => {
  const { things, items } = teamsOf(migration, organization, teams)
  await new Copies(migration, things).give(items)
  for (const one of teams)
    await reportErrors(migration.report, `the team ${one.name} of ${organization.name}`, () =>
      giveWithin(migration, organization, one, things.scope),
    )
}

const giveWithin = async (
  migration: Migration,
  organization: Account,
  one: TeamRights,
  scope: string,
): Promise<void> => {
  const { report, comparison } = migration
  const label = `${one.name} of ${organization.name}`
  if (one.isLowered) report.note('leftOut', LOWERED, label)
  const here = await copyOfTeam(migration, scope, one)
  if (here === undefined) {
    if (comparison === undefined) report.note('differs', CREATED_HERE, label)
    return
  }
  const members = membersOf(migration, organization, one, here)
  await new Copies(migration, members.things).give(members.items)
  const repositories = repositoriesOf(migration, organization, one, here)
  if (!here.allRepositories) await new Copies(migration, repositories.things).give(repositories.items)
}
