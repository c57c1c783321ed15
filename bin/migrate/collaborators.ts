import * as v from 'valibot'
import { type Level, Level as Levels } from '../../lib/records/schema/index.ts'
import { apiPath, ifAvailable, type Migration, OPERATOR, reportErrors } from './migration.ts'
import { textOf } from './names/index.ts'
import type { Report } from './report.ts'
import { type CopiedRepository, repositoryPath } from './repositories.ts'
import { type SourceRepository, SourceUser } from './shapes.ts'
import { type ExistenceSubject, synchronize } from './synchronize.ts'
import { isProtected } from './teams/rights.ts'

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
    await synchronizeCollaborators(migration, copied, levels)
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

/** @param levels by name at the source, in lower case; none when the repository was deleted there */
export const synchronizeCollaborators = async (
  migration: Migration,
  { key, repository }: Pick<CopiedRepository, 'key' | 'repository'>,
  levels: ReadonlyMap<string, Level>,
): Promise<void> => {
  const { allot, migrationLog, names } = migration
  const { collaborators } = allot.hosting
  const path = await names.addressOf(repository)
  if (path === undefined) return
  const scope = textOf(key)
  const ends = (name: string) => names.ends(repository.id, name, 'user')
  const has = async (name: string) => collaborators.has(OPERATOR, path, await names.loginHere(name))
  const set = async (name: string, level: Level) =>
    collaborators.set(OPERATOR, path, await names.loginHere(name), level)
  const subject: ExistenceSubject = {
    kind: 'collaborator',
    scope,
    ends,
    find: async (name) => ((await has(name)) ? ends(name) : undefined),
    remove: async (name) => void (await collaborators.remove(OPERATOR, path, await names.loginHere(name))),
  }
  const wanted = [...levels].map(([login, level]) => ({
    name: names.key(login),
    label: login,
    grants: [level],
    create: () => set(names.key(login), level),
  }))
  await synchronize(migration, subject, wanted)
  for (const [login, level] of levels) {
    const name = names.key(login)
    const known = await migrationLog.get('collaborator', scope, name)
    if (known === undefined || known.copy === undefined || known.grants[0] === level) continue
    if (await has(name)) {
      await set(name, level)
      await migrationLog.save([{ ...known, grants: [level] }])
    }
  }
}
