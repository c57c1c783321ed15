import { readableAmong, type SignedIn, type Viewer } from '../accounts/access.ts'
import { authorizeRepositoryAdmin, isOwnerOf } from '../accounts/authorize.ts'
import { readableRepository } from '../accounts/find.ts'
import type { FoundTeam } from '../accounts/team-members.ts'
import { changeableTeam, OWNERS, visibleTeam } from '../accounts/teams.ts'
import { now } from '../clock.ts'
import { AllotError, invalidMember, NAME_LIMIT } from '../errors.ts'
import { type Page, pageOfAll, type Slice } from '../records/pages.ts'
import { accounts, type Repository, type Team, teamRepositories, teams } from '../records/schema/index.ts'
import type { Store, WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { repositoriesOf } from './lists.ts'
import type { RepositoryName } from './names.ts'

/** How many repositories a team can have that is not for all; each request of its members reads them all. */
const MAX_REPOSITORIES = 1000

/**
 * The repositories that teams have rights on. Methods return undefined when one does not exist or the viewer
 * cannot see it.
 */
export class TeamRepositories {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  /** The repositories of the team that the viewer can read. */
  list(viewer: SignedIn, id: number, slice: Slice): Promise<Page<Repository> | undefined> {
    return this.#store.read(async (tx) => {
      const found = await visibleTeam(tx, viewer, id)
      if (found === undefined) return undefined
      const { organization, team } = found
      if (!isLimited(team)) return repositoriesOf(tx, viewer, organization.id, 'name', slice)
      const assigned = await teamRepositories.list(tx, 'team', { prefix: [id] })
      const ids = assigned.map(({ repository }) => repository)
      return pageOfAll(await readableAmong(tx, viewer, ids), slice)
    })
  }

  /** The repository with the name, if the team has a right on it and the viewer can read it. */
  find(viewer: SignedIn, id: number, name: RepositoryName): Promise<Repository | undefined> {
    return this.#store.read(async (tx) => {
      const found = await visibleTeam(tx, viewer, id)
      const repository = found && (await repositoryIn(tx, viewer, found, name))
      return repository !== undefined && (await hasTeam(tx, found!, repository)) ? repository : undefined
    })
  }

  /**
   * Gives a team its rights on a repository, or takes them.
   * @returns whether both exist, and the team had the rights that are taken
   * @throws AllotError forbidden for anyone but an owner; conflict for too many; invalid when one is taken
   * from a team for all repositories
   */
  set(viewer: SignedIn, id: number, name: RepositoryName, isAssigned: boolean): Promise<boolean> {
    return this.#store.write(async (tx) => {
      const found = await changeableTeam(tx, viewer, id)
      const repository = found && (await repositoryIn(tx, viewer, found, name))
      return repository !== undefined && (isAssigned ? assign : unassign)(tx, found!.team, repository)
    })
  }

  /** The teams that have rights on a repository, for those who administer it: the owners first. */
  teamsOf(viewer: SignedIn, { owner, name }: RepositoryName): Promise<FoundTeam[] | undefined> {
    return this.#store.read(async (tx) => {
      const repository = await authorizeRepositoryAdmin(viewer, owner, name)(tx)
      return repository && teamsOn(tx, repository)
    })
  }

  /** A team of the organization that owns the repository, by its name, if it has rights on the repository. */
  async findTeam(viewer: SignedIn, name: RepositoryName, teamName: string): Promise<FoundTeam | undefined> {
    const found = await this.teamsOf(viewer, name)
    return found?.find(({ team }) => (team?.name ?? OWNERS).toLowerCase() === teamName.toLowerCase())
  }

  /**
   * @returns whether the repository and the team exist
   * @throws AllotError forbidden for anyone but an owner; conflict for too many; invalid for a repository
   * that the team has as one of all
   */
  setTeam(
    viewer: SignedIn,
    { owner, name }: RepositoryName,
    teamName: string,
    isAssigned: boolean,
  ): Promise<boolean> {
    return this.#store.write(async (tx) => {
      const repository = await authorizeRepositoryAdmin(viewer, owner, name)(tx)
      if (repository === undefined) return false
      if (!(await isOwnerOf(tx, viewer, repository.owner)))
        throw new AllotError('forbidden', 'only owners of the organization may do this')
      if ((await accounts.get(tx, [repository.owner]))?.kind !== 'organization') return false
      const key = [repository.owner, teamName.toLowerCase()]
      const team = teamName.length > NAME_LIMIT ? undefined : await teams.findBy(tx, 'name', key)
      if (team === undefined && teamName.toLowerCase() !== OWNERS.toLowerCase()) return false
      return (isAssigned ? assign : unassign)(tx, team, repository)
    })
  }
}

/** Whether a team has chosen repositories, not all of its organization as its owners have. */
const isLimited = (team: Team | undefined): team is Team & { allRepositories: false } =>
  team !== undefined && !team.allRepositories

const hasTeam = async (tx: ReadTransaction, { team }: FoundTeam, repository: Repository): Promise<boolean> =>
  !isLimited(team) || (await teamRepositories.get(tx, [team.id, repository.id])) !== undefined

/** A repository of the team's organization that the viewer can read. */
const repositoryIn = async (
  tx: ReadTransaction,
  viewer: Viewer,
  { organization }: FoundTeam,
  { owner, name }: RepositoryName,
): Promise<Repository | undefined> => {
  const repository = await readableRepository(tx, viewer, owner, name)
  return repository?.owner === organization.id ? repository : undefined
}

const assign = async (tx: WriteContext, team: Team | undefined, repository: Repository): Promise<boolean> => {
  if (!isLimited(team)) return true
  const key = [team.id, repository.id]
  if ((await teamRepositories.get(tx, key)) !== undefined) return true
  if ((await teamRepositories.count(tx, 'team', [team.id])) >= MAX_REPOSITORIES)
    throw new AllotError(
      'conflict',
      `a team can have at most ${MAX_REPOSITORIES} repositories: set includes_all_repositories for more`,
    )
  const { id, organization } = team
  await teamRepositories.save(tx, { team: id, organization, repository: repository.id, createdAt: now() })
  return true
}

const unassign = async (
  tx: WriteContext,
  team: Team | undefined,
  repository: Repository,
): Promise<boolean> => {
  if (!isLimited(team)) throw invalidMember('team', `${team?.name ?? OWNERS} is for all repositories`)
  return (await teamRepositories.remove(tx, [team.id, repository.id])) !== undefined
}

const teamsOn = async (tx: ReadTransaction, repository: Repository): Promise<FoundTeam[]> => {
  const organization = await accounts.get(tx, [repository.owner])
  if (organization?.kind !== 'organization') return []
  const kept = await teams.list(tx, 'organization', { prefix: [organization.id] })
  const all: FoundTeam[] = [undefined, ...kept].map((team) => ({ organization, team }))
  const has = await Promise.all(all.map((found) => hasTeam(tx, found, repository)))
  return all.filter((_, index) => has[index])
}
