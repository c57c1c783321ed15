import * as v from 'valibot'
import { type Account, type Level, Level as Levels } from '../../lib/records/schema/index.ts'
import { Copies } from './copies.ts'
import { followLinks, type LinkedThings } from './links.ts'
import { apiPath, ifAvailable, type Migration, OPERATOR, reportErrors } from './migration.ts'
import { type CopiedRepository, repositoryPath } from './repositories.ts'
import { SourceLogin, type SourceRepository } from './shapes.ts'
import { isProtected } from './teams/rights.ts'
import type { Item } from './things.ts'

const NOT_SHOWN =
  'collaborators whose own right the source does not show, because they have another one as well: as administrators or by teams'
const LOWERED =
  'collaborators who only read here, since the repository has protected branches or tags at the source'

const Permission = v.object({ permission: v.string() })

/** Copies the collaborators of a repository. The rights follow the source. */
export const copyCollaborators = (migration: Migration, copied: CopiedRepository): Promise<void> =>
  reportErrors(migration.report, `the collaborators of ${copied.given.full_name}`, async () => {
    const { source, names } = migration
    const path = `${repositoryPath(copied.given)}/collaborators`
    const users = await ifAvailable(source.list(SourceLogin, path))
    if (users === undefined) return
    const levels = new Map<string, Level>()
    const things = collaboratorsOf(migration, { ...copied, within: copied.given.full_name }, levels)
    const items: Item[] = []
    for (const { login } of users) {
      const level = await collaboratorLevel(migration, copied.given, login)
      if (level === undefined) continue
      const key = names.key(login)
      levels.set(key, level)
      const item = things.itemFor(key, login.toLowerCase(), { values: { level } })
      items.push({ ...item, edit: (_copy, _values, origin) => item.create(origin) })
    }
    await new Copies(migration, things).synchronize(items)
  })

/**
 * The right that a user may have here as a collaborator. The source tells the greatest of all rights of a
 * user, so it is the collaborator's own only when the user has no other.
 */
const collaboratorLevel = async (
  { source, teams, report }: Migration,
  given: SourceRepository,
  login: string,
): Promise<Level | undefined> => {
  const path = `${repositoryPath(given)}/collaborators${apiPath(login)}/permission`
  const { permission = '' } = (await ifAvailable(source.get(Permission, path))) ?? {}
  const label = `${login} of ${given.full_name}`
  const isInTeam = teams
    .get(given.owner.login.toLowerCase())
    ?.some(({ users }) => users.has(login.toLowerCase()))
  if (isInTeam || !v.is(Levels, permission)) {
    if (permission !== 'none') report.note('leftOut', NOT_SHOWN, label)
    return undefined
  }
  if (permission !== 'write' || !(await isProtected(source, given))) return permission
  report.note('leftOut', LOWERED, label)
  return 'read'
}

interface Copy extends Pick<CopiedRepository, 'key' | 'repository'> {
  /** The repository in the report. */
  readonly within: string
}

/** @param levels the rights that the source gives, by the keys of the users */
export const collaboratorsOf = (
  migration: Migration,
  { key, repository, within }: Copy,
  levels: ReadonlyMap<string, Level> = new Map(),
): LinkedThings => {
  const { allot, names } = migration
  const records = allot.hosting.collaborators
  const address = async () => (await names.addressOf(repository))!
  return followLinks<Account>(migration, {
    kind: 'collaborator',
    scope: key,
    within,
    of: repository.id,
    withKey: (name) => names.userWithKey(name),
    all: async (slice) => records.list(OPERATOR, await address(), slice),
    has: ({ id }) => records.level(repository.id, id),
    members: async ({ of, to }) => ({ level: await records.level(of!, to!) }),
    add: async (user) => records.set(OPERATOR, await address(), user.name, levels.get(names.keyHere(user))!),
    remove: async ({ name }) => records.remove(OPERATOR, await address(), name),
  })
}
