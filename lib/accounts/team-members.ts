/**
 * Who is in a team, and how accounts join and leave it, which can make them join or leave the organization.
 */
import { now } from '../clock.ts'
import { AllotError } from '../errors.ts'
import {
  type Account,
  type Membership,
  memberships,
  type Team,
  teamMembers,
} from '../records/schema/index.ts'
import type { WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { membershipOf, type SignedIn } from './access.ts'
import { refuseTooManyMemberships } from './memberships.ts'
import { removeMembership } from './organizations.ts'
import { teamsOf } from './rights.ts'

/** A team as its viewers see it. Without a record, it is the team of the organization's owners. */
export interface FoundTeam {
  readonly organization: Account
  readonly team: Team | undefined
}

/**
 * Teams that others can put an account into, since each request of the account reads them all. Administrators
 * may exceed it.
 */
const MAX_JOINED = 100

export const memberIds = async (
  tx: ReadTransaction,
  { organization, team }: FoundTeam,
): Promise<number[]> => {
  if (team !== undefined) {
    const members = await teamMembers.list(tx, 'team', { prefix: [team.id] })
    return members.map(({ account }) => account)
  }
  const members = await memberships.list(tx, 'organization', { prefix: [organization.id] })
  return members.filter(({ owner }) => owner).map(({ member }) => member)
}

/** Adds an account to a team, and to the organization if it is not in it. */
export const joinTeam = async (
  tx: WriteContext,
  viewer: SignedIn,
  { organization, team }: FoundTeam,
  account: Account,
): Promise<void> => {
  const before = await membershipOf(tx, organization.id, account.id)
  if (before === undefined) await refuseTooManyMemberships(tx, viewer, account)
  const blank = { organization: organization.id, member: account.id, owner: false, createdAt: now() }
  const membership: Membership = before ?? { ...blank, byTeam: true }
  if (team === undefined) {
    await memberships.save(tx, { ...membership, owner: true })
    return
  }
  if (before === undefined) await memberships.save(tx, membership)
  const key = [account.id, organization.id, team.id] as const
  if ((await teamMembers.get(tx, key)) !== undefined) return
  const joined = await teamMembers.count(tx, 'account', [account.id])
  if (joined >= MAX_JOINED && !viewer.admin && viewer.id !== account.id)
    throw new AllotError(
      'conflict',
      `${account.name} is already in ${MAX_JOINED} teams: only an administrator can add more`,
    )
  const member = { account: account.id, organization: organization.id, team: team.id }
  await teamMembers.save(tx, { ...member, createdAt: now() })
}

/** @returns whether the account was in the team */
export const leaveTeam = async (
  tx: WriteContext,
  organization: number,
  account: number,
  team: number,
): Promise<boolean> => {
  if ((await teamMembers.remove(tx, [account, organization, team])) === undefined) return false
  const membership = await membershipOf(tx, organization, account)
  if (membership !== undefined) await saveOrLeave(tx, membership)
  return true
}

/** Saves a membership, or removes it when it has neither a role nor a team left. */
export const saveOrLeave = async (tx: WriteContext, membership: Membership): Promise<void> => {
  const { organization, member, owner, byTeam } = membership
  const isKept = owner || byTeam !== true || (await teamsOf(tx, member, organization)).length > 0
  if (isKept) await memberships.save(tx, membership)
  else await removeMembership(tx, membership)
}
