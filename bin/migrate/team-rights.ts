import * as v from 'valibot'
import { collect } from './migration.ts'
import { type Source, SourceError } from './source.ts'
import { SourceRepository, SourceTeam, SourceUser } from './source-types.ts'

/** Who belongs to an organization at the source, and who of them may do there what a member may do here. Names in lower case. */
export interface MemberRights {
  owners: ReadonlySet<string>
  /** Owners too. */
  members: ReadonlySet<string>
  /** Members at the source whose rights cannot be said here. */
  leftOut: readonly string[]
}

/** What a member here may write to: git data, issues, releases and packages of every repository. */
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
 * The members who may be members here: a member here writes to all repositories of the organization and creates new ones, so
 * each of them must be allowed to do so at the source.
 * @throws Refused when the source does not show its teams
 */
export const teamRights = async (
  source: Source,
  organization: string,
  repositories: readonly SourceRepository[],
): Promise<MemberRights> => {
  const teams = await teamsOf(source, organization)
  const owners = new Set(teams.filter(isOfOwners).flatMap(({ users }) => [...users]))
  const all = new Set(teams.flatMap(({ users }) => [...users]))
  const candidates = [...all].filter((login) => {
    const own = teams.filter(({ users }) => users.has(login))
    return !owners.has(login) && mayWriteEverywhere(own, repositories)
  })
  const isAdminOf = (login: string, { name }: SourceRepository) =>
    teams.some((team) => team.level >= ADMIN && team.users.has(login) && covers(team, name))
  let writers = candidates
  for (const one of repositories) {
    const others = writers.filter((login) => !isAdminOf(login, one))
    if (others.length > 0 && (await isProtected(source, one)))
      writers = writers.filter((login) => !others.includes(login))
  }
  const members = new Set([...owners, ...writers])
  return { owners, members, leftOut: [...all].filter((login) => !members.has(login)) }
}

const teamsOf = async (source: Source, organization: string): Promise<Team[]> => {
  const given = await collect(source.list(SourceTeam, `/orgs/${encodeURIComponent(organization)}/teams`))
  const teams: Team[] = []
  for (const one of given) {
    const users = await collect(source.list(SourceUser, `/teams/${one.id}/members`))
    const isOfAll = isOfOwners(one) || one.includes_all_repositories === true
    const listed = isOfAll
      ? undefined
      : await collect(source.list(SourceRepository, `/teams/${one.id}/repos`))
    teams.push({
      ...one,
      level: isOfOwners(one) ? LEVELS.length : LEVELS.indexOf(one.permission ?? ''),
      users: new Set(users.map(({ login }) => login.toLowerCase())),
      repositories: listed && new Set(listed.map(({ name }) => name.toLowerCase())),
    })
  }
  return teams
}

const isOfOwners = ({ permission }: SourceTeam): boolean => permission === 'owner'

const covers = ({ repositories }: Team, repository: string): boolean =>
  repositories === undefined || repositories.has(repository.toLowerCase())

const mayWriteEverywhere = (teams: readonly Team[], repositories: readonly SourceRepository[]): boolean => {
  const writes = (covering: readonly Team[]) =>
    UNITS.every((unit) => covering.some((team) => mayWrite(team, unit)))
  return (
    teams.some((team) => team.can_create_org_repo === true) &&
    writes(teams) &&
    repositories.every(({ name }) => writes(teams.filter((team) => covers(team, name))))
  )
}

/** Versions before `units_map` name the units that the permission is for. */
const mayWrite = ({ level, units, units_map: byUnit }: Team, unit: string): boolean => {
  if (level >= ADMIN) return true
  if (byUnit !== undefined && byUnit !== null)
    return Object.hasOwn(byUnit, unit) && LEVELS.indexOf(byUnit[unit]!) >= WRITE
  return level >= WRITE && units?.includes(unit) === true
}

/**
 * Whether a writer who does not administer the repository may not push everything: mirrors, protected branches and tags.
 * Invariant: a writer passes only where the source says that it has no rules. Rules that it does not show count as rules.
 * @throws Refused when the source fails to answer
 */
const isProtected = async (source: Source, { owner, name, mirror }: SourceRepository): Promise<boolean> => {
  if (mirror === true) return true
  const path = `/repos/${encodeURIComponent(owner.login)}/${encodeURIComponent(name)}`
  for (const list of ['branch_protections', 'tag_protections'])
    if (await hasRules(source, `${path}/${list}`)) return true
  return false
}

/** Versions without such rules do not know the path. */
const NO_SUCH_LIST = [404, 405]

const hasRules = async (source: Source, path: string): Promise<boolean> => {
  try {
    const rules = await source.get(v.nullable(v.array(v.unknown())), path)
    return rules !== null && rules.length > 0
  } catch (error) {
    if (!(error instanceof SourceError)) throw error
    if (NO_SUCH_LIST.includes(error.status)) return false
    if (error.status === 401 || error.status === 403) return true
    throw error
  }
}
