import * as v from 'valibot'
import { apiPath } from './migration.ts'
import { SourceRepository, SourceUser } from './shapes.ts'
import { type Source, SourceError } from './source.ts'

const SourceTeam = v.object({
  id: v.number(),
  permission: v.nullish(v.string(), ''),
  includes_all_repositories: v.nullish(v.boolean(), false),
  can_create_org_repo: v.nullish(v.boolean(), false),
  units: v.nullish(v.array(v.string()), []),
  units_map: v.nullish(v.record(v.string(), v.string())),
})
type SourceTeam = v.InferOutput<typeof SourceTeam>

/** Members of an organization at the source, by what they may do here. Names are in lower case. */
export interface MemberRights {
  owners: ReadonlySet<string>
  /** Includes the owners. */
  members: ReadonlySet<string>
  /** Members at the source whose rights Allot cannot express. */
  leftOut: readonly string[]
}

/** What a member here may write in every repository: git data, issues, releases and packages. */
const UNITS = ['repo.code', 'repo.issues', 'repo.releases', 'repo.packages']

const LEVELS = ['none', 'read', 'write', 'admin', 'owner']
const WRITE = LEVELS.indexOf('write')
const ADMIN = LEVELS.indexOf('admin')

interface Team extends SourceTeam {
  level: number
  users: ReadonlySet<string>
  /** Undefined: all repositories of the organization. */
  repositories: ReadonlySet<string> | undefined
}

/**
 * Who may become a member here. A member here writes to all repositories of the organization and creates new ones, so each
 * must be allowed to do that at the source.
 * @throws SourceError when the source doesn't show its teams
 */
export const teamRights = async (
  source: Source,
  organization: string,
  repositories: readonly SourceRepository[],
): Promise<MemberRights> => {
  const teams = await readTeams(source, organization)
  const owners = new Set(teams.filter(isOwnerTeam).flatMap(({ users }) => [...users]))
  const all = new Set(teams.flatMap(({ users }) => [...users]))
  let writers = [...all].filter((login) => {
    const teamsOfUser = teams.filter(({ users }) => users.has(login))
    return !owners.has(login) && canWriteEverywhere(teamsOfUser, repositories)
  })
  const administers = (login: string, { name }: SourceRepository) =>
    teams.some((team) => team.level >= ADMIN && team.users.has(login) && covers(team, name))
  for (const repository of repositories) {
    const restricted = writers.filter((login) => !administers(login, repository))
    if (restricted.length > 0 && (await isProtected(source, repository)))
      writers = writers.filter((login) => !restricted.includes(login))
  }
  const members = new Set([...owners, ...writers])
  return { owners, members, leftOut: [...all].filter((login) => !members.has(login)) }
}

const readTeams = async (source: Source, organization: string): Promise<Team[]> => {
  const teams: Team[] = []
  for (const team of await source.list(SourceTeam, apiPath('orgs', organization, 'teams'))) {
    const users = await source.list(SourceUser, `/teams/${team.id}/members`)
    const isOfAll = isOwnerTeam(team) || team.includes_all_repositories
    const repositories = isOfAll ? undefined : await source.list(SourceRepository, `/teams/${team.id}/repos`)
    teams.push({
      ...team,
      level: isOwnerTeam(team) ? LEVELS.length : LEVELS.indexOf(team.permission),
      users: new Set(users.map(({ login }) => login.toLowerCase())),
      repositories: repositories && new Set(repositories.map(({ name }) => name.toLowerCase())),
    })
  }
  return teams
}

const isOwnerTeam = ({ permission }: SourceTeam): boolean => permission === 'owner'

const covers = ({ repositories }: Team, name: string): boolean =>
  repositories === undefined || repositories.has(name.toLowerCase())

const canWriteEverywhere = (teams: readonly Team[], repositories: readonly SourceRepository[]): boolean => {
  const canWriteAll = (covering: readonly Team[]) =>
    UNITS.every((unit) => covering.some((team) => canWrite(team, unit)))
  return (
    teams.some((team) => team.can_create_org_repo) &&
    canWriteAll(teams) &&
    repositories.every(({ name }) => canWriteAll(teams.filter((team) => covers(team, name))))
  )
}

/** Versions without `units_map` list the units that have the permission of the team. */
const canWrite = ({ level, units, units_map: levelOfUnit }: Team, unit: string): boolean => {
  if (level >= ADMIN) return true
  if (levelOfUnit !== undefined && levelOfUnit !== null)
    return Object.hasOwn(levelOfUnit, unit) && LEVELS.indexOf(levelOfUnit[unit]!) >= WRITE
  return level >= WRITE && units.includes(unit)
}

/**
 * Whether a writer who isn't an administrator of the repository may not push everything: mirrors, protected branches and
 * protected tags.
 * Invariant: false only when the source says that it has no such rules. Rules that it doesn't show count as rules.
 * @throws SourceError when the source fails to answer
 */
const isProtected = async (source: Source, repository: SourceRepository): Promise<boolean> => {
  if (repository.mirror) return true
  for (const list of ['branch_protections', 'tag_protections'])
    if (await hasRules(source, apiPath('repos', repository.owner.login, repository.name, list))) return true
  return false
}

/** Versions without such rules don't know the path. */
const NO_SUCH_LIST = [404, 405]
const NOT_SHOWN = [401, 403]

const hasRules = async (source: Source, path: string): Promise<boolean> => {
  try {
    const rules = await source.get(v.nullable(v.array(v.unknown())), path)
    return rules !== null && rules.length > 0
  } catch (error) {
    if (!(error instanceof SourceError)) throw error
    if (NO_SUCH_LIST.includes(error.status)) return false
    if (NOT_SHOWN.includes(error.status)) return true
    throw error
  }
}
