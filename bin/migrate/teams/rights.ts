import * as v from 'valibot'
import { type Level, Unit } from '../../../lib/records/schema/index.ts'
import { SourceLogin, SourceRepository } from '../shapes.ts'
import { apiPath, type Source, SourceError } from '../source.ts'

const SourceTeam = v.object({
  id: v.number(),
  name: v.nullish(v.string(), ''),
  description: v.nullish(v.string(), ''),
  permission: v.nullish(v.string(), ''),
  includes_all_repositories: v.nullish(v.boolean(), false),
  can_create_org_repo: v.nullish(v.boolean(), false),
  units_map: v.nullish(v.record(v.string(), v.string()), {}),
})
type SourceTeam = v.InferOutput<typeof SourceTeam>

/** A team as it may be here. Names of users are in lower case. */
export interface TeamRights {
  readonly name: string
  readonly description: string
  readonly isOwners: boolean
  readonly level: Level
  readonly units: { unit: Unit; level: 'read' | 'write' }[]
  readonly canCreate: boolean
  readonly users: ReadonlySet<string>
  /** Undefined: all repositories of the organization. */
  readonly repositories: readonly SourceRepository[] | undefined
  /** Whether its members write to the code at the source, and only read it here. */
  readonly isLowered: boolean
}

/**
 * The teams of an organization. Here a right to write to code is one to every branch and tag, so a team that
 * writes to a repository with protected ones, and does not administer it, only reads code.
 * @throws SourceError when the source doesn't show its teams
 */
export const teamRights = async (
  source: Source,
  organization: string,
  repositories: readonly SourceRepository[],
): Promise<TeamRights[]> => {
  const teams: TeamRights[] = []
  const known = new Map<string, Promise<boolean>>()
  const isGuarded = (repository: SourceRepository): Promise<boolean> => {
    const answer = known.get(repository.name) ?? isProtected(source, repository)
    known.set(repository.name, answer)
    return answer
  }
  for (const team of await source.list(SourceTeam, apiPath('orgs', organization, 'teams'))) {
    const users = await source.list(SourceLogin, `/teams/${team.id}/members`)
    const isOwners = team.permission === 'owner'
    const isForAll = isOwners || team.includes_all_repositories
    const listed = isForAll ? undefined : await source.list(SourceRepository, `/teams/${team.id}/repos`)
    const ids = listed && new Set(listed.map(({ id }) => id))
    const covered = repositories.filter(({ id }) => ids?.has(id) !== false)
    teams.push(await rightsOf(team, isOwners, { users, repositories: listed, covered, isGuarded }))
  }
  return teams
}

interface Extent {
  readonly users: readonly SourceLogin[]
  readonly repositories: readonly SourceRepository[] | undefined
  readonly covered: readonly SourceRepository[]
  isGuarded(repository: SourceRepository): Promise<boolean>
}

const rightsOf = async (
  team: SourceTeam,
  isOwners: boolean,
  { users, repositories, covered, isGuarded }: Extent,
): Promise<TeamRights> => {
  const isAdmin = isOwners || team.permission === 'admin'
  const units = isAdmin ? [] : unitsOf(team)
  const code = units.find(({ unit }) => unit === 'repo.code')
  const isLowered = code?.level === 'write' && (await someAsync(covered, isGuarded))
  if (isLowered && code !== undefined) code.level = 'read'
  return {
    name: team.name,
    description: team.description,
    isOwners,
    units,
    isLowered,
    repositories,
    level: isAdmin ? 'admin' : units.some(({ level }) => level === 'write') ? 'write' : 'read',
    canCreate: team.can_create_org_repo,
    users: new Set(users.map(({ login }) => login.toLowerCase())),
  }
}

const unitsOf = ({ units_map: levels }: SourceTeam): TeamRights['units'] =>
  Object.entries(levels).flatMap(([unit, level]): TeamRights['units'] => {
    if (!v.is(Unit, unit)) return []
    if (level === 'read') return [{ unit, level }]
    return ['write', 'admin', 'owner'].includes(level) ? [{ unit, level: 'write' }] : []
  })

const someAsync = async <T>(items: readonly T[], test: (item: T) => Promise<boolean>): Promise<boolean> => {
  for (const item of items) if (await test(item)) return true
  return false
}

/**
 * Whether a writer who isn't an administrator of the repository may not push everything: mirrors, protected
 * branches and protected tags.
 * Invariant: false only when the source says that it has no such rules. Rules that it doesn't show count as
 * rules.
 * @throws SourceError when the source fails to answer
 */
export const isProtected = async (source: Source, repository: SourceRepository): Promise<boolean> => {
  if (repository.mirror) return true
  // An Allot has no such rules.
  if (source.isAllot) return false
  for (const list of ['branch_protections', 'tag_protections'])
    if (await hasRules(source, apiPath('repos', repository.owner.login, repository.name, list))) return true
  return false
}

const hasRules = async (source: Source, path: string): Promise<boolean> => {
  try {
    const rules = await source.get(v.nullable(v.array(v.unknown())), path)
    return rules !== null && rules.length > 0
  } catch (error) {
    const status = error instanceof SourceError ? error.status : 0
    // Versions without such rules don't know the path.
    if (status === 404 || status === 405) return false
    // Not shown.
    if (status === 401 || status === 403) return true
    throw error
  }
}
