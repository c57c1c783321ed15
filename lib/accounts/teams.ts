import { now } from '../clock.ts'
import { AllotError, invalid, invalidMember, NAME_LIMIT, takenMember } from '../errors.ts'
import { type Page, pageOfAll, type Slice } from '../records/pages.ts'
import {
  type Account,
  accounts,
  memberships,
  type Team,
  teamMembers,
  teamRepositories,
  teams,
} from '../records/schema/index.ts'
import { type Store, takeNumber, type WriteContext } from '../records/store.ts'
import { foldCase } from '../search/index.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { membershipOf, type SignedIn, type Viewer, visibleAmong } from './access.ts'
import { authorizeOrganization, isOwnerOf, visibleUser } from './authorize.ts'
import { accountByName, NO_ACCOUNT, visibleOrganization } from './find.ts'
import { isMemberOrAdmin } from './memberships.ts'
import { refuseLastFounder } from './organizations.ts'
import { teamsOf } from './rights.ts'
import { type FoundTeam, joinTeam, leaveTeam, memberIds, saveOrLeave } from './team-members.ts'

export type TeamEdit = Partial<Omit<Team, 'id' | 'organization' | 'createdAt'>>
export type NewTeam = TeamEdit & Pick<Team, 'name'>

/** Name of the team of the owners, which no other team can have. */
export const OWNERS = 'Owners'

const MAX_TEAMS = 500

/**
 * Teams of organizations. Methods return undefined when one does not exist, and for viewers outside the
 * organization.
 */
export class Teams {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  /**
   * The owners, then the teams of an organization by name.
   * @param word part of the name or the description
   */
  list(viewer: Viewer, name: string, slice: Slice, word = ''): Promise<Page<FoundTeam> | undefined> {
    return this.#store.read(async (tx) => {
      const organization = await visibleOrganization(tx, viewer, name)
      if (organization === undefined || !(await isMemberOrAdmin(tx, viewer, organization.id)))
        return undefined
      const kept = await teams.list(tx, 'organization', { prefix: [organization.id] })
      const all = [undefined, ...kept].filter((team) => matches(team, foldCase(word)))
      const items = all.map((team) => ({ organization, team }))
      return pageOfAll(items, slice)
    })
  }

  /** The teams that a user is in. */
  of(account: number, slice: Slice): Promise<Page<FoundTeam>> {
    return this.#store.read(async (tx) => {
      const joined = await memberships.list(tx, 'member', { prefix: [account] })
      const kept = await teamsOf(tx, account)
      const organizations = await accounts.referredBy(tx, joined, ({ organization }) => organization)
      const items = joined.flatMap((membership): FoundTeam[] => {
        const organization = organizations.get(membership.organization)
        if (organization === undefined) return []
        const own = kept.filter((team) => team.organization === organization.id)
        return [...(membership.owner ? [undefined] : []), ...own].map((team) => ({ organization, team }))
      })
      return pageOfAll(items, slice)
    })
  }

  find(viewer: Viewer, id: number): Promise<FoundTeam | undefined> {
    return this.#store.read((tx) => visibleTeam(tx, viewer, id))
  }

  /**
   * @throws AllotError forbidden for anyone but an owner; invalid for a malformed name; conflict for a taken
   * one, and for too many
   */
  async create(viewer: SignedIn, name: string, given: NewTeam): Promise<FoundTeam | undefined> {
    return this.#store.write(async (tx) => {
      const organization = await authorizeOrganization(viewer, name)(tx)
      if (organization === undefined) return undefined
      if ((await teams.count(tx, 'organization', [organization.id])) >= MAX_TEAMS)
        throw new AllotError('conflict', `an organization can have at most ${MAX_TEAMS} teams`)
      // No team has the id of an account: that of an organization stands for the team of its owners.
      const id = await takeNumber(tx, 'account')
      const team: Team = { ...blankTeam(id, organization.id), ...given }
      await checkTeam(tx, team)
      await teams.save(tx, team)
      return { organization, team }
    })
  }

  edit(viewer: SignedIn, id: number, change: (before: Team) => TeamEdit): Promise<FoundTeam | undefined> {
    return this.#store.write(async (tx) => {
      const found = await changeableTeam(tx, viewer, id)
      if (found === undefined) return undefined
      if (found.team === undefined) throw invalid(`the team ${OWNERS} cannot be changed`)
      const team = { ...found.team, ...change(found.team) }
      await checkTeam(tx, team)
      await teams.save(tx, team)
      return { ...found, team }
    })
  }

  /**
   * Deletes a team. Members who were in the organization by this team alone leave it. A large team loses its
   * members and repositories in several writes before.
   */
  async remove(viewer: SignedIn, id: number): Promise<boolean> {
    for (;;) {
      const removed = await this.#store.write((tx) => removeSome(tx, viewer, id))
      if (removed !== 'some') return removed
    }
  }

  /** The members of a team whom the viewer can see, by id. */
  members(viewer: Viewer, id: number, slice: Slice): Promise<Page<Account> | undefined> {
    return this.#store.read(async (tx) => {
      const found = await visibleTeam(tx, viewer, id)
      if (found === undefined) return undefined
      const visible = await visibleAmong(tx, viewer, await memberIds(tx, found))
      return pageOfAll(visible, slice)
    })
  }

  member(viewer: Viewer, id: number, name: string): Promise<Account | undefined> {
    return this.#store.read(async (tx) => {
      const found = await visibleTeam(tx, viewer, id)
      const account = found && viewer && (await visibleUser(viewer, name)(tx))
      if (found === undefined || !account) return undefined
      return (await memberIds(tx, found)).includes(account.id) ? account : undefined
    })
  }

  /**
   * Adds a user to a team, and to the organization with the rights of its teams alone.
   * @returns whether the team and the user exist
   * @throws AllotError forbidden for anyone but an owner; conflict for a user who is in too many teams or
   * organizations
   */
  addMember(viewer: SignedIn, id: number, name: string): Promise<boolean> {
    return this.#store.write(async (tx) => {
      const found = await changeableTeam(tx, viewer, id)
      const account = found && (await visibleUser(viewer, name)(tx))
      if (found === undefined || account === undefined) return false
      await joinTeam(tx, viewer, found, account)
      return true
    })
  }

  /**
   * Takes a user out of a team. A user who is in no other team then, and not a member otherwise, leaves the
   * organization.
   */
  removeMember(viewer: SignedIn, id: number, name: string): Promise<boolean> {
    return this.#store.write(async (tx) => {
      const found = await changeableTeam(tx, viewer, id, name)
      // A user who has become hidden since can still be taken out.
      const account = found && (await accountByName(tx, name))
      if (found === undefined) return false
      const { organization, team } = found
      const memberId = (account ?? NO_ACCOUNT).id
      if (team !== undefined) return leaveTeam(tx, organization.id, memberId, id)
      const membership = await membershipOf(tx, organization.id, memberId)
      if (account === undefined || membership?.owner !== true) return false
      await refuseLastFounder(tx, membership, account, viewer)
      // An owner who leaves `Owners` keeps only teams, however the membership began.
      const { founder: _, ...member } = membership
      await saveOrLeave(tx, { ...member, owner: false, byTeam: true })
      return true
    })
  }
}

const blankTeam = (id: number, organization: number): Omit<Team, 'name'> => ({
  id,
  organization,
  description: '',
  level: 'read',
  units: [],
  allRepositories: false,
  canCreate: false,
  createdAt: now(),
})

const NAME = /^[\p{L}\p{N}](?:[\p{L}\p{N} ._-]*[\p{L}\p{N}])?$/u

/** @throws AllotError invalid for the name or the description */
const checkTeamTexts = ({ name, description }: Pick<Team, 'name' | 'description'>): void => {
  if (name.length > NAME_LIMIT || !NAME.test(name))
    throw invalidMember(
      'name',
      "must have 1 to 255 letters, digits, spaces, '.', '_' and '-', with a letter or digit at both ends",
    )
  if (name.toLowerCase() === OWNERS.toLowerCase())
    throw invalidMember('name', `${OWNERS} is the team of the owners`)
  if (description.length > 255) throw invalidMember('description', 'must have at most 255 characters')
}

const checkTeam = async (tx: ReadTransaction, team: Team): Promise<void> => {
  checkTeamTexts(team)
  const other = await teams.findBy(tx, 'name', [team.organization, team.name.toLowerCase()])
  if (other !== undefined && other.id !== team.id)
    throw takenMember('name', `there is already a team ${other.name}`)
}

const matches = (team: Team | undefined, word: string): boolean =>
  [team?.name ?? OWNERS, team?.description ?? ''].some((text) => foldCase(text).includes(word))

/** The team with the id, if the viewer is in its organization. */
export const visibleTeam = async (
  tx: ReadTransaction,
  viewer: Viewer,
  id: number,
): Promise<FoundTeam | undefined> => {
  const team = await teams.get(tx, [id])
  const organization = await accounts.get(tx, [team?.organization ?? id])
  if (organization?.kind !== 'organization' || !(await isMemberOrAdmin(tx, viewer, organization.id)))
    return undefined
  return { organization, team }
}

/**
 * A team that the viewer can change.
 * @param leaving name of the member who leaves it, which users can do themselves
 * @throws AllotError forbidden for anyone but an owner of the organization, and the member who leaves
 */
export const changeableTeam = async (
  tx: ReadTransaction,
  viewer: SignedIn,
  id: number,
  leaving?: string,
): Promise<FoundTeam | undefined> => {
  const found = await visibleTeam(tx, viewer, id)
  if (found === undefined || (await isOwnerOf(tx, viewer, found.organization.id))) return found
  if (leaving !== undefined && (await accountByName(tx, leaving))?.id === viewer.id) return found
  throw new AllotError('forbidden', `only owners of ${found.organization.name} may do this`)
}

/** Members and repositories that one write removes at most, so that others do not wait long. */
const MAX_REMOVED = 50

/** @returns 'some' when the team is still there, since it has more */
const removeSome = async (tx: WriteContext, viewer: SignedIn, id: number): Promise<boolean | 'some'> => {
  const found = await changeableTeam(tx, viewer, id)
  if (found === undefined) return false
  if (found.team === undefined) throw invalid(`the team ${OWNERS} cannot be deleted`)
  const listing = { prefix: [id], limit: MAX_REMOVED }
  const members = await teamMembers.list(tx, 'team', listing)
  for (const { account } of members) await leaveTeam(tx, found.organization.id, account, id)
  const shared = await teamRepositories.list(tx, 'team', listing)
  for (const { repository } of shared) await teamRepositories.remove(tx, [id, repository])
  if (members.length === MAX_REMOVED || shared.length === MAX_REMOVED) return 'some'
  await teams.remove(tx, [id])
  return true
}
