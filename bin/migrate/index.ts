import { copyUser } from './accounts.ts'
import { chosenIn } from './chosen.ts'
import { copyKeys } from './keys.ts'
import { attempt, each, type Moving } from './moving.ts'
import { copyOrganization } from './organizations.ts'
import { copyQuota } from './quota.ts'
import { copyRelations } from './relations.ts'
import { copyRepository, repositoriesOf } from './repositories.ts'

/**
 * Copies what is chosen, one thing after another, each whole or not at all. What is there already is known by its name, so
 * that another run goes on where this one ended, and changes nothing when it had ended well.
 * @param names users and organizations; none: everything
 */
export const migrate = async (moving: Moving, names: readonly string[]): Promise<void> => {
  const { users, organizations, owners } = await chosenIn(moving.source, names)
  const logins = users.map(({ login }) => login)
  await each('users', users, (user) => copyUser(moving, user))
  await each('organizations', organizations, (one) => copyOrganization(moving, one, logins))
  await copyQuota(moving)
  await each('repositories', owners, ({ kind, name }) => copyRepositories(moving, kind, name))
  await each('keys', logins, (login) => copyKeys(moving, login))
  // Last, for they are to what was copied before.
  await each('follows, stars and watches', logins, (login) => copyRelations(moving, login))
}

const copyRepositories = (moving: Moving, kind: 'user' | 'organization', owner: string): Promise<void> =>
  attempt(moving.report, `the repositories of ${owner}`, async () => {
    for (const one of await repositoriesOf(moving.source, kind, owner)) await copyRepository(moving, one)
  })
