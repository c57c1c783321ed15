/** A Gitea or Forgejo as a model: accounts, teams and repositories, and who may do what there. */

export const UNITS = ['repo.code', 'repo.issues', 'repo.releases', 'repo.packages'] as const
export type Unit = (typeof UNITS)[number]
export type Visibility = 'public' | 'limited' | 'private'
export type Level = 'none' | 'read' | 'write' | 'admin' | 'owner'

export interface ModelUser {
  /** Absent: one that belongs to the name. */
  id?: number
  login: string
  admin: boolean
  active: boolean
  prohibited: boolean
  restricted: boolean
  visibility: Visibility
  keys: string[]
  follows: string[]
  stars: string[]
}

export interface ModelTeam {
  id: number
  name: string
  /** `read` and `write` say nothing themselves: the units do. */
  level: Level
  units: Record<Unit, Level>
  all: boolean
  repositories: string[]
  members: string[]
  create: boolean
}

export interface ModelHook {
  id: number
  url: string
  type?: string
  events?: string[]
}

export interface ModelOrganization {
  id?: number
  email?: string
  hooks?: ModelHook[]
  name: string
  visibility: Visibility
  teams: ModelTeam[]
}

export interface ModelRepository {
  id?: number
  hooks?: ModelHook[]
  /** Path of an image. */
  avatar?: string
  owner: string
  name: string
  private: boolean
  archived: boolean
  protected: boolean
  collaborators: Record<string, Level>
}

export interface Model {
  /** Whether it answers without a token. */
  open: boolean
  users: ModelUser[]
  organizations: ModelOrganization[]
  repositories: ModelRepository[]
}

/** 0 nothing, 1 read, 2 write, 3 administer. */
const RANK: Record<Level, number> = { none: 0, read: 1, write: 2, admin: 3, owner: 3 }

/** Rights of a user on a repository. Each is a rank, so that rights can be compared one by one. */
export interface Rights {
  code: number
  issues: number
  releases: number
  packages: number
  /** 1: may push to every branch. */
  everyBranch: number
  /** 1: may create repositories beside it. */
  create: number
}

/** @param login undefined without a login */
export const rightsAt = (model: Model, login: string | undefined, repository: ModelRepository): Rights => {
  const user = model.users.find((one) => one.login === login)
  const canSignIn = user?.active === true && !user.prohibited
  const rank = (unit: Unit) =>
    Math.max(
      rankOf(model, undefined, repository, unit),
      canSignIn ? rankOf(model, user, repository, unit) : 0,
    )
  const [code, issues, releases] = UNITS.map(rank) as [number, number, number]
  const packages = canSignIn ? packagesAt(model, user, repository.owner) : 0
  const mayPushAll = code === 3 || (code === 2 && !repository.protected)
  const mayCreate = canSignIn && (user.admin || createsIn(model, user.login, repository.owner))
  return { code, issues, releases, packages, everyBranch: Number(mayPushAll), create: Number(mayCreate) }
}

/** Packages belong to the owner: a team has its right on them whatever its repositories are. */
const packagesAt = (model: Model, user: ModelUser, owner: string): number => {
  if (user.admin || user.login === owner) return 3
  const ranks = teamsOf(model, user.login, owner).map(({ level, units }) =>
    RANK[level] === 3 ? 3 : RANK[units['repo.packages']],
  )
  return Math.max(0, ...ranks)
}

const rankOf = (
  model: Model,
  user: ModelUser | undefined,
  repository: ModelRepository,
  unit: Unit,
): number => {
  const { owner, name, archived, collaborators } = repository
  const teams = teamsOf(model, user?.login, owner)
  const granted = teams
    .filter((team) => team.level === 'owner' || team.all || team.repositories.includes(name))
    .map((team) => (RANK[team.level] === 3 ? 3 : RANK[team.units[unit]]))
  const highest = Math.max(
    isOpenTo(model, user, repository) ? 1 : 0,
    user !== undefined && (user.admin || user.login === owner) ? 3 : 0,
    RANK[collaborators[user?.login ?? ''] ?? 'none'],
    ...granted,
  )
  return archived && highest === 2 ? 1 : highest
}

const isOpenTo = (model: Model, user: ModelUser | undefined, { owner, ...one }: ModelRepository): boolean => {
  const { visibility } = [...model.organizations, ...model.users].find(
    (account) => ('login' in account ? account.login : account.name) === owner,
  )!
  if (one.private || (user === undefined && !model.open)) return false
  if (user === undefined) return visibility === 'public'
  if (user.restricted) return false
  return visibility !== 'private' || teamsOf(model, user.login, owner).length > 0
}

const teamsOf = (model: Model, login: string | undefined, owner: string): ModelTeam[] =>
  model.organizations
    .filter(({ name }) => name === owner)
    .flatMap(({ teams }) => teams.filter(({ members }) => login !== undefined && members.includes(login)))

const createsIn = (model: Model, login: string, owner: string): boolean =>
  login === owner || teamsOf(model, login, owner).some(({ level, create }) => level === 'owner' || create)

export const userOf = (login: string, more: Partial<ModelUser> = {}): ModelUser => ({
  ...{ login, admin: false, active: true, prohibited: false, restricted: false, visibility: 'public' },
  ...{ keys: [], follows: [], stars: [], ...more },
})

export const unitsOf = (level: Level, more: Partial<ModelTeam['units']> = {}): ModelTeam['units'] => ({
  ...(Object.fromEntries(UNITS.map((unit) => [unit, level])) as ModelTeam['units']),
  ...more,
})

/** A team that writes to everything. */
export const teamOf = (id: number, members: string[], more: Partial<ModelTeam> = {}): ModelTeam => ({
  ...{ id, name: `team${id}`, level: 'write', all: true, repositories: [], members, create: true },
  ...{ units: unitsOf('write'), ...more },
})

export const repositoryOf = (owner: string, name: string, more: Partial<ModelRepository> = {}) => ({
  ...{ owner, name, private: false, archived: false, protected: false, collaborators: {}, ...more },
})
