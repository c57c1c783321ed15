import * as v from 'valibot'
import { type Level, Level as Levels } from '../../lib/records/schema/index.ts'
import { synchronize } from './copies.ts'
import { apiPath, ifAvailable, type Migration, OPERATOR, reportErrors } from './migration.ts'
import { textOf } from './names/index.ts'
import type { Report } from './report.ts'
import { type CopiedRepository, repositoryPath } from './repositories.ts'
import { type SourceRepository, SourceUser } from './shapes.ts'
import { isProtected } from './teams/rights.ts'
import type { Things } from './things.ts'

const NOT_SHOWN =
  'collaborators whose own right the source does not show, because they have another one as well: as administrators or by teams'
const LOWERED =
  'collaborators who only read here, since the repository has protected branches or tags at the source'

const Permission = v.object({ permission: v.string() })

/** Copies the collaborators of a repository. The rights follow the source. */
export const copyCollaborators = (migration: Migration, copied: CopiedRepository): Promise<void> =>
  reportErrors(migration.report, `the collaborators of ${copied.given.full_name}`, async () => {
    const { source } = migration
    const path = `${repositoryPath(copied.given)}/collaborators`
    const users = await ifAvailable(source.list(SourceUser, path))
    if (users === undefined) return
    const levels = new Map<string, Level>()
    for (const { login } of users) {
      const level = await collaboratorLevel(migration, copied.given, login)
      if (level !== undefined) levels.set(login.toLowerCase(), level)
    }
    const set = (key: string, level: Level) => setLevel(migration, copied, key, level)
    const items = [...levels].map(([login, level]) => {
      const name = migration.names.key(login)
      return {
        ...{ name, label: login, values: { level } },
        create: () => set(name, level),
        edit: () => set(name, level),
      }
    })
    await synchronize(migration, collaboratorsOf(migration, copied), items)
  })

/**
 * The right that a user may have here as a collaborator. The source tells the greatest of all rights of a
 * user, so it is the collaborator's own only when the user has no other.
 */
export const collaboratorLevel = async (
  { source, teams, report }: Pick<Migration, 'source' | 'teams'> & { report: Pick<Report, 'note'> },
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

type Copy = Pick<CopiedRepository, 'key' | 'repository'>

const setLevel = async (
  { allot, names }: Migration,
  { repository }: Copy,
  key: string,
  level: Level,
): Promise<boolean> => {
  const path = await names.addressOf(repository)
  if (path === undefined) return false
  return allot.hosting.collaborators.set(OPERATOR, path, await names.loginHere(key), level)
}

export const collaboratorsOf = (migration: Migration, { key, repository }: Copy): Things => {
  const { allot, names } = migration
  const records = allot.hosting.collaborators
  return {
    kind: 'collaborator',
    scope: textOf(key),
    async find(name) {
      const ends = await names.ends(repository.id, name, 'user')
      return ends && (await records.level(ends.of, ends.to)) && ends
    },
    members: async ({ of, to }) => ({ level: await records.level(of!, to!) }),
    async remove(name) {
      const path = await names.addressOf(repository)
      if (path !== undefined) await records.remove(OPERATOR, path, await names.loginHere(name))
    },
  }
}
