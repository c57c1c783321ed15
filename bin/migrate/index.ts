import { copyUser } from './accounts.ts'
import { takeBackGone, takeBackGoneRepositories } from './gone.ts'
import { copyKeys } from './user-data.ts'
import { each, type Given, type Migration, reportErrors } from './migration.ts'
import { copyOrganization } from './organizations.ts'
import { copyQuota } from './quota.ts'
import { copyRelations } from './relations.ts'
import { copyRepository, repositoriesOf } from './repositories.ts'
import { type Selection, select } from './selection.ts'

/**
 * Copies what is chosen, one thing after another, each whole or not at all. What is there already is known by its name, so
 * that another run goes on where this one ended, and changes nothing when it had ended well and the source is the same.
 *
 * Invariant: what a run gives here is at most what the source gives at that time. What an earlier run gave and the source
 * has withdrawn since is taken back; what was given here by other means stays, and is in the report.
 * @param names users and organizations; none: everything
 */
export const migrate = async (given: Given, names: readonly string[]): Promise<void> => {
  const { source, allot } = given
  const migration: Migration = {
    ...given,
    history: allot.hosting.migrated(source.base),
    repositories: new Map(),
  }
  const chosen = await select(source, names)
  const { users, organizations, owners } = chosen
  const logins = users.map(({ login }) => login)
  if (names.length === 0) await takeBackGone(migration, chosen)
  await each('users', users, (user) => copyUser(migration, user))
  await each('organizations', organizations, (one) => copyOrganization(migration, one, logins))
  await copyQuota(migration)
  await each('repositories', owners, (owner) => copyRepositories(migration, owner))
  await each('keys', logins, (login) => copyKeys(migration, login))
  // Last, for they are to what was copied before.
  await each('follows, stars and watches', logins, (login) => copyRelations(migration, login))
}

/** Those of an organization whose members are not settled stay away: its members here might do more than at the source. */
const copyRepositories = (migration: Migration, owner: Selection['owners'][number]): Promise<void> =>
  reportErrors(migration.report, `the repositories of ${owner.name}`, async () => {
    const found =
      owner.kind === 'user'
        ? await repositoriesOf(migration.source, 'user', owner.name)
        : migration.repositories.get(owner.name.toLowerCase())
    if (found === undefined) return
    await takeBackGoneRepositories(migration, owner.name, found)
    for (const one of found) await copyRepository(migration, one, owner.visibility)
  })
