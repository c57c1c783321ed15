import { copyUser } from './accounts.ts'
import { type Chosen, chosenIn } from './chosen.ts'
import { takeBackGone, takeBackGoneRepositories } from './gone.ts'
import { copyKeys } from './keys.ts'
import { attempt, each, type Given, type Moving } from './moving.ts'
import { copyOrganization } from './organizations.ts'
import { copyQuota } from './quota.ts'
import { copyRelations } from './relations.ts'
import { copyRepository, repositoriesOf } from './repositories.ts'

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
  const moving: Moving = { ...given, history: allot.hosting.migrated(source.base), repositories: new Map() }
  const chosen = await chosenIn(source, names)
  const { users, organizations, owners } = chosen
  const logins = users.map(({ login }) => login)
  if (names.length === 0) await takeBackGone(moving, chosen)
  await each('users', users, (user) => copyUser(moving, user))
  await each('organizations', organizations, (one) => copyOrganization(moving, one, logins))
  await copyQuota(moving)
  await each('repositories', owners, (owner) => copyRepositories(moving, owner))
  await each('keys', logins, (login) => copyKeys(moving, login))
  // Last, for they are to what was copied before.
  await each('follows, stars and watches', logins, (login) => copyRelations(moving, login))
}

/** Those of an organization whose members are not settled stay away: its members here might do more than at the source. */
const copyRepositories = (moving: Moving, owner: Chosen['owners'][number]): Promise<void> =>
  attempt(moving.report, `the repositories of ${owner.name}`, async () => {
    const found =
      owner.kind === 'user'
        ? await repositoriesOf(moving.source, 'user', owner.name)
        : moving.repositories.get(owner.name.toLowerCase())
    if (found === undefined) return
    await takeBackGoneRepositories(moving, owner.name, found)
    for (const one of found) await copyRepository(moving, one, owner.visibility)
  })
