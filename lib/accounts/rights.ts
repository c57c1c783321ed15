/**
 * The rights of accounts on repositories. `rightsOn` is the only place that says which rights an account was
 * given on one, by ownership, membership, teams and collaborators; for lists and searches, `sharedWith` says
 * which repositories it can read by such a right. `permissionOn` (access.ts) adds what is open to everyone,
 * and `isOfferedTo` what is offered to the account; `authorizeOwner` guards what only the owner may do, and
 * writes to archived repositories are refused (repositories/write-access.ts).
 *
 * A record has a `Level`, which this file turns into a `Right`; the API shows it as a `Permission`. All
 * functions read records only, within the transaction of their caller, so a right that is withdrawn has no
 * effect on a write that begins later.
 */

import { pendingAmong } from '../records/jobs.ts'
import {
  accounts,
  collaborators,
  type Membership,
  memberships,
  type Repository,
  repositories,
  type Team,
  type TeamRepository,
  type Transfer,
  teamMembers,
  teamRepositories,
  teams,
  transfers,
  type Unit,
} from '../records/schema/index.ts'
import type { ReadTransaction } from '../storage/index.ts'

/** The rights on a part of a repository. Each includes those before it. */
export const RIGHT = { none: 0, read: 1, write: 2, admin: 3 } as const
export type Right = (typeof RIGHT)[keyof typeof RIGHT]

const NAMES = Object.keys(RIGHT) as (keyof typeof RIGHT)[]
export const nameOfRight = (right: Right): keyof typeof RIGHT => NAMES[right]!

/** The rights of an account on each part of a repository. */
export interface Rights {
  readonly code: Right
  readonly issues: Right
  readonly releases: Right
}

const PARTS = ['code', 'issues', 'releases'] as const

const onAll = (right: Right): Rights => ({ code: right, issues: right, releases: right })

const NO_RIGHTS = onAll(RIGHT.none)

/** The greater right on each part. */
const combined = (left: Rights, right: Rights): Rights => ({
  code: greater(left.code, right.code),
  issues: greater(left.issues, right.issues),
  releases: greater(left.releases, right.releases),
})

const greater = (left: Right, right: Right): Right => (left > right ? left : right)

export const hasAnyRight = (rights: Rights): boolean => PARTS.some((part) => rights[part] > RIGHT.none)

/** The right of a team on a unit. */
const rightOfTeam = ({ level, units }: Team, unit: Unit): Right => {
  if (level === 'admin') return RIGHT.admin
  const granted = units.find((one) => one.unit === unit)
  return RIGHT[granted?.level ?? 'none']
}

const rightsOfTeam = (team: Team): Rights => ({
  code: rightOfTeam(team, 'repo.code'),
  issues: rightOfTeam(team, 'repo.issues'),
  releases: rightOfTeam(team, 'repo.releases'),
})

/**
 * The rights of a member on every repository: owners administer them, members write to them unless they
 * joined by a team.
 */
const rightsOfMember = ({ owner, byTeam }: Membership): Rights => {
  if (owner) return onAll(RIGHT.admin)
  return byTeam === true ? NO_RIGHTS : onAll(RIGHT.write)
}

/** Whether the membership gives rights on all repositories of the organization. */
export const isFullMember = ({ owner, byTeam }: Membership): boolean => owner || byTeam !== true

/** The rights that an account was given on a repository; those that everyone has are not among them. */
export const rightsOn = async (
  tx: ReadTransaction,
  { id, admin }: { readonly id: number; readonly admin: boolean },
  repository: Pick<Repository, 'id' | 'owner'>,
): Promise<Rights> => {
  if (admin || id === repository.owner) return onAll(RIGHT.admin)
  const [membership, collaborator] = await Promise.all([
    memberships.get(tx, [repository.owner, id]),
    collaborators.get(tx, [repository.id, id]),
  ])
  const shared = collaborator === undefined ? NO_RIGHTS : onAll(RIGHT[collaborator.level])
  if (membership === undefined) return shared
  const own = combined(shared, rightsOfMember(membership))
  return own.code === RIGHT.admin ? own : combined(own, await rightsByTeams(tx, id, repository))
}

const rightsByTeams = async (
  tx: ReadTransaction,
  account: number,
  repository: Pick<Repository, 'id' | 'owner'>,
): Promise<Rights> => {
  const joined = await teamsOf(tx, account, repository.owner)
  const keys = joined.map(({ id }) => [id, repository.id])
  const assigned = joined.length === 0 ? [] : await teamRepositories.getMany(tx, keys)
  return joined
    .filter((team, index) => team.allRepositories || assigned[index] !== undefined)
    .map(rightsOfTeam)
    .reduce(combined, NO_RIGHTS)
}

/** The teams that an account is in: of one organization, or of all. */
export const teamsOf = async (
  tx: ReadTransaction,
  account: number,
  organization?: number,
): Promise<Team[]> => {
  const ids: number[] = []
  const prefix = organization === undefined ? [account] : [account, organization]
  for await (const { team } of teamMembers.all(tx, prefix)) ids.push(team)
  return ids.length === 0 ? [] : [...(await teams.byIds(tx, ids)).values()]
}

/**
 * Whether an account may do something with all that an owner has: as the owner, as a full member, or by a
 * team that may.
 */
const mayAsMember =
  (mayTeam: (team: Team) => boolean) =>
  async (tx: ReadTransaction, account: number, owner: number): Promise<boolean> => {
    if (account === owner) return true
    const membership = await memberships.get(tx, [owner, account])
    if (membership === undefined) return false
    return isFullMember(membership) || (await teamsOf(tx, account, owner)).some(mayTeam)
  }

/** Whether an account can read every repository of an owner. */
export const readsAllOf = mayAsMember((team) => team.allRepositories && hasAnyRight(rightsOfTeam(team)))

/** Whether an account can create repositories of an owner. */
export const canCreateIn = mayAsMember(({ canCreate }) => canCreate)

/** Whether an account can change the packages of an owner. */
export const canChangePackages = mayAsMember((team) => rightOfTeam(team, 'repo.packages') >= RIGHT.write)

/** Whether an account is the owner, or owns the organization that is the owner. */
export const owns = async (tx: ReadTransaction, account: number, owner: number): Promise<boolean> =>
  account === owner || (await memberships.get(tx, [owner, account]))?.owner === true

/**
 * The offer of a repository; undefined unless the account that made it can still give the repository away.
 */
export const offerOf = async (
  tx: ReadTransaction,
  { id, owner }: Pick<Repository, 'id' | 'owner'>,
): Promise<Transfer | undefined> => {
  const offer = await transfers.get(tx, [id])
  if (offer === undefined || !(await owns(tx, offer.doer, owner))) return undefined
  return (await accounts.get(tx, [offer.doer]))?.active === true ? offer : undefined
}

/**
 * Whether the repository is offered to the account, or to an organization that it owns. The recipient comes
 * first: others get the same reads whether it is offered or not.
 */
export const isOfferedTo = async (
  tx: ReadTransaction,
  account: number,
  repository: Pick<Repository, 'id' | 'owner'>,
): Promise<boolean> => {
  const recipient = (await transfers.get(tx, [repository.id]))?.recipient ?? 0
  return (await owns(tx, account, recipient)) && (await offerOf(tx, repository)) !== undefined
}

/** The memberships of an account, without those of deleted organizations, which a job removes in steps. */
export const currentMemberships = async (tx: ReadTransaction, account: number): Promise<Membership[]> => {
  const joined = await memberships.list(tx, 'member', { prefix: [account] })
  const organizations = async () => joined.map(({ organization }) => organization)
  const deleted = await pendingAmong(tx, 'removeAccountData', joined.length, organizations)
  return joined.filter(({ organization }) => !deleted.includes(organization))
}

/** Repositories that an account can read because of a right that it was given. */
export interface Shared {
  /** Ids of the account and of the organizations all of whose repositories it sees. */
  readonly owners: readonly number[]
  /** Repositories of other owners, each once. */
  readonly repositories: readonly Repository[]
}

/**
 * The number of organizations, teams and repositories to which others can add an account is limited
 * (organizations.ts, teams.ts, collaborators.ts), so that its requests stay fast.
 */
export const sharedWith = async (tx: ReadTransaction, account: number): Promise<Shared> => {
  const [joined, joinedTeams, single] = await Promise.all([
    currentMemberships(tx, account),
    teamsOf(tx, account),
    collaborators.list(tx, 'account', { prefix: [account] }),
  ])
  const effective = joinedTeams.filter((team) => hasAnyRight(rightsOfTeam(team)))
  const ofAll = new Set(
    effective.filter((team) => team.allRepositories).map(({ organization }) => organization),
  )
  const whole = joined.filter((one) => isFullMember(one) || ofAll.has(one.organization))
  const owners = new Set([account, ...whole.map(({ organization }) => organization)])
  const ids = [
    ...single.map(({ repository }) => repository),
    ...(await repositoriesOfTeams(
      tx,
      effective.filter(({ organization }) => !owners.has(organization)),
    )),
  ]
  return { owners: [...owners], repositories: await existingOutside(tx, owners, ids) }
}

const repositoriesOfTeams = async (tx: ReadTransaction, given: readonly Team[]): Promise<number[]> => {
  const lists = await Promise.all(given.map(({ id }) => teamRepositories.list(tx, 'team', { prefix: [id] })))
  return lists.flat().map(({ repository }: TeamRepository) => repository)
}

/** The repositories that exist and whose owners exist and are not among the given ones. */
const existingOutside = async (
  tx: ReadTransaction,
  owners: ReadonlySet<number>,
  ids: readonly number[],
): Promise<Repository[]> => {
  if (ids.length === 0) return []
  const found = [...(await repositories.byIds(tx, ids)).values()]
  const outside = found.filter(({ owner }) => !owners.has(owner))
  const existing = await accounts.referredBy(tx, outside, ({ owner }) => owner)
  return outside.filter(({ owner }) => existing.has(owner))
}
