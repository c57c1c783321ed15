import { type Actor, recordAudit } from '../audit.ts'
import { now } from '../clock.ts'
import { AllotError, checkArgument, invalid, isObject } from '../errors.ts'
import { type EditOf, savedMembers } from '../records/edits.ts'
import { type Page, pageOfAll, type Slice } from '../records/pages.ts'
import {
  type Account,
  accounts,
  collaborators,
  type Membership,
  memberships,
  repositories,
  teamMembers,
} from '../records/schema/index.ts'
import { type Store, takeNumber, type WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { membershipOf, type Viewer, visibleAmong } from './access.ts'
import { blankAccount, insertAccount } from './account-records.ts'
import type { Removal, RemovalOptions } from './accounts.ts'
import { accountAt, type Target } from './authorize.ts'
import { existingAccount, NO_ACCOUNT, visibleAccount, visibleOrganization } from './find.ts'
import { isMemberOrAdmin, refuseTooManyMemberships, refuseTooManyOrganizations } from './memberships.ts'
import { isFullMember, teamsOf } from './rights.ts'

/** The members of a new organization that are saved as the caller gives them, besides its name. */
const GIVEN = ['fullName', 'description', 'website', 'location', 'visibility'] as const

export interface NewOrganization extends EditOf<Account, (typeof GIVEN)[number]> {
  /** Name, unique without regard to case among users and organizations. */
  name: string
}

interface OwnedOrganization {
  /** The organization. */
  readonly organization: Account
  /** Number of its owners. */
  readonly owners: number
}

interface MemberOptions {
  /** The user whose rights are checked; absent for the host. */
  viewer?: Viewer
}

interface OwnershipOptions extends MemberOptions {
  /**
   * Whether the member is an owner then. Absent: an owner stays one; anybody else is a full member then, also
   * one who was in the organization by a team alone.
   */
  owner?: boolean
}

/** Organizations and their members. */
export class Organizations {
  readonly #store: Store
  readonly #removal: Removal

  constructor(store: Store, removal: Removal) {
    this.#store = store
    this.#removal = removal
  }

  /**
   * Creates an organization.
   * @param owner the user who becomes its first owner; undefined: administrators manage it
   * @param by who creates it, for the audit log; absent: the host
   * @throws AllotError invalid for a malformed or reserved name, and for an owner who is not a user; conflict
   * for a taken name, and for a user who is in too many organizations; not_found for an owner who does not
   * exist
   */
  async create(owner: number | undefined, organization: NewOrganization, by?: Actor): Promise<Account> {
    checkArgument(isObject(organization), 'organization', "an object, such as { name: 'acme' }", organization)
    const blank = blankAccount('organization', organization.name)
    return this.#store.write(async (tx) => {
      const id = await takeNumber(tx, 'account')
      const record: Account = { ...blank, ...savedMembers(organization, GIVEN), id }
      if (owner !== undefined) requireMember(await existingAccount(tx, owner))
      if (by?.admin === false) await refuseTooManyOrganizations(tx, by.id)
      await insertAccount(tx, record)
      const after = { kind: record.kind, visibility: record.visibility }
      await recordAudit(tx, by, { action: 'account created', subject: record.name, after })
      if (owner === undefined) return record
      const membership = { organization: id, member: owner, createdAt: now() }
      await memberships.save(tx, { ...membership, owner: true, founder: true })
      return record
    })
  }

  /** Organizations that the member belongs to, if the viewer can see them and may know of the membership. */
  of(viewer: Viewer, member: number, slice: Slice): Promise<Page<Account>> {
    return this.#store.read(async (tx) => {
      const joined = await memberships.list(tx, 'member', { prefix: [member] })
      const found = await Promise.all(joined.map((membership) => mayKnowOf(tx, viewer, membership)))
      const ids = joined.filter((_, index) => found[index]).map(({ organization }) => organization)
      const visible = await visibleAmong(tx, viewer, ids)
      return pageOfAll(visible, slice)
    })
  }

  /** Whether the user is a member. Viewers who are neither members nor administrators always get false. */
  hasMember(viewer: NonNullable<Viewer>, name: string, memberName: string): Promise<boolean> {
    return this.#store.read(async (tx) => {
      const organization = await visibleOrganization(tx, viewer, name)
      const member = await visibleAccount(tx, viewer, memberName)
      if (organization === undefined || member === undefined) return false
      const canAsk = await isMemberOrAdmin(tx, viewer, organization.id)
      return canAsk && (await membershipOf(tx, organization.id, member.id)) !== undefined
    })
  }

  /** Whether the account is an owner of the organization. */
  isOwner(organization: number, account: number): Promise<boolean> {
    return this.#store.read(async (tx) => (await membershipOf(tx, organization, account))?.owner === true)
  }

  /** Whether the account belongs to the organization, and not with the rights of its teams alone. */
  isFullMember(organization: number, account: number): Promise<boolean> {
    return this.#store.read(async (tx) => {
      const membership = await membershipOf(tx, organization, account)
      return membership !== undefined && isFullMember(membership)
    })
  }

  /** All organizations by name, each with the number of its owners, which can be 0. */
  list(slice: Slice): Promise<Page<OwnedOrganization>> {
    return this.#store.read(async (tx) => {
      const { items, total } = await accounts.page(tx, 'name', { prefix: ['organization'], ...slice }, 'kind')
      const owners = await Promise.all(items.map(({ id }) => memberships.count(tx, 'owners', [id])))
      return {
        items: items.map((organization, index) => ({ organization, owners: owners[index]! })),
        total,
      }
    })
  }

  /**
   * Adds a full member, or changes whether an existing one is an owner. The audit log does not have it.
   * @throws AllotError conflict when others have already added the member to too many organizations, and when
   * the change would take the last ownership from the founder, unless `viewer` is an administrator; not_found
   * for an unknown account; invalid unless a user becomes a member of an organization
   */
  setMember(
    organization: Target<Account>,
    member: Target<Account>,
    options: OwnershipOptions = {},
  ): Promise<void> {
    return this.#store.write(async (tx) => {
      const { id } = requireOrganization(await resolve(tx, organization))
      const account = requireMember(await resolve(tx, member))
      const before = await membershipOf(tx, id, account.id)
      if (before === undefined) await refuseTooManyMemberships(tx, options.viewer ?? null, account)
      const owner = options.owner ?? before?.owner ?? false
      if (before !== undefined && !owner) await refuseLastFounder(tx, before, account, options.viewer)
      // A role that is given by name is more than that of a team.
      const {
        founder,
        byTeam: _,
        ...kept
      } = before ?? { organization: id, member: account.id, createdAt: now() }
      const after: Membership = { ...kept, owner }
      await memberships.save(tx, owner && founder === true ? { ...after, founder } : after)
    })
  }

  /**
   * Removes a member.
   * @returns whether the user was a member
   * @throws AllotError conflict when the founder is the last owner, unless `viewer` is an administrator
   */
  removeMember(
    organization: Target<Account>,
    member: Target<Account>,
    options: MemberOptions = {},
  ): Promise<boolean> {
    return this.#store.write(async (tx) => {
      const { id } = await resolve(tx, organization)
      const account = await find(tx, member)
      const before = await membershipOf(tx, id, (account ?? NO_ACCOUNT).id)
      if (account === undefined || before === undefined) return false
      await refuseLastFounder(tx, before, account, options.viewer)
      await removeMembership(tx, before)
      return true
    })
  }

  /** Deletes an organization as `Accounts.remove` does an account. */
  remove(which: Target<Account>, options?: RemovalOptions): Promise<boolean> {
    return this.#removal.remove(async (tx) => {
      const account = await accountAt(tx, which)
      return account?.kind === 'organization' ? account : undefined
    }, options)
  }
}

/**
 * Removes a membership with all that came with it: teams, and rights on repositories that the member created.
 * Collaborators whom somebody added stay.
 */
export const removeMembership = async (
  tx: WriteContext,
  { organization, member }: Membership,
): Promise<void> => {
  for (const { id } of await teamsOf(tx, member, organization))
    await teamMembers.remove(tx, [member, organization, id])
  const shared = await collaborators.list(tx, 'account', { prefix: [member] })
  const created = shared.filter(({ byMembership }) => byMembership).map(({ repository }) => repository)
  for (const { id, owner } of (await repositories.byIds(tx, created)).values())
    if (owner === organization) await collaborators.remove(tx, [id, member])
  await memberships.remove(tx, [organization, member])
}

/** Members, administrators and the member itself know of a membership; others only when it is public. */
export const mayKnowOf = async (
  tx: ReadTransaction,
  viewer: Viewer,
  { organization, member, public: isPublic }: Membership,
): Promise<boolean> => isPublic === true || viewer?.id === member || isMemberOrAdmin(tx, viewer, organization)

const find = (tx: ReadTransaction, which: Target<Account>): Promise<Account | undefined> =>
  typeof which === 'number' ? existingAccount(tx, which) : which(tx)

const resolve = async (tx: ReadTransaction, which: Target<Account>): Promise<Account> => {
  const account = await find(tx, which)
  if (account === undefined) throw noSuchAccount()
  return account
}

const noSuchAccount = () => new AllotError('not_found', 'there is no such account')

const requireOrganization = (account: Account): Account => {
  if (account.kind !== 'organization') throw invalid(`${account.name} is a user, which has no members`)
  return account
}

const requireMember = (account: Account): Account => {
  if (account.kind !== 'user')
    throw invalid(`${account.name} is an organization, and only users can be members`)
  return account
}

/**
 * Keeps the founder from leaving an organization without an owner by mistake. An owner whom another user
 * added did not choose to be one and can always leave; the organization then has no owner, which
 * administrators see in their list.
 */
export const refuseLastFounder = async (
  tx: ReadTransaction,
  { organization, owner, founder }: Membership,
  { name }: Account,
  viewer: Viewer | undefined,
) => {
  if (!owner || founder !== true || viewer?.admin === true) return
  if ((await memberships.count(tx, 'owners', [organization])) === 1)
    throw new AllotError(
      'conflict',
      `${name} founded this organization and is its only owner: make someone else an owner, or delete the organization`,
    )
}
