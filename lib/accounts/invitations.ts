import { now } from '../clock.ts'
import { AllotError, invalidMember } from '../errors.ts'
import { type Page, pageOfAll, type Slice } from '../records/pages.ts'
import { type Account, accounts, type Invitation, invitations } from '../records/schema/index.ts'
import type { Store } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { membershipOf, type SignedIn } from './access.ts'
import { authorizeOrganization, visibleUser } from './authorize.ts'
import { accountByName, existingAccount } from './find.ts'
import { saveRole } from './organizations.ts'

/** Invitations that a user, and that an organization, can have at a time. */
const MAX_OF_USER = 100
const MAX_OF_ORGANIZATION = 1000

interface FoundInvitation {
  readonly invitation: Invitation
  readonly organization: Account
  readonly user: Account
}

/**
 * Invitations to organizations: an owner invites a user, who becomes a member by accepting. Owners who add
 * users directly, and administrators, need none. Methods return undefined when the viewer cannot see the
 * organization or the user.
 */
export class Invitations {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  /**
   * Invites a user, or changes the role that the invitation is for.
   * @throws AllotError forbidden for others than owners; invalid for members; conflict for too many
   * invitations
   */
  invite(
    viewer: SignedIn,
    organizationName: string,
    userName: string,
    owner: boolean,
  ): Promise<FoundInvitation | undefined> {
    return this.#store.write(async (tx) => {
      const organization = await authorizeOrganization(viewer, organizationName)(tx)
      const user = organization && (await visibleUser(viewer, userName)(tx))
      if (organization === undefined || user === undefined) return undefined
      const membership = await membershipOf(tx, organization.id, user.id)
      if (membership !== undefined && (membership.owner || !owner))
        throw invalidMember(
          'username',
          `${user.name} is already ${membership.owner ? 'an owner' : 'a member'}`,
        )
      const before = await invitations.get(tx, [organization.id, user.id])
      if (before === undefined) await refuseTooManyInvitations(tx, organization, user)
      const invitation = { organization: organization.id, account: user.id, owner, createdAt: now() }
      await invitations.save(tx, invitation)
      return { invitation, organization, user }
    })
  }

  /**
   * The invitations of an organization, by the id of the user.
   * @throws AllotError forbidden for others than owners
   */
  list(viewer: SignedIn, organizationName: string, slice: Slice): Promise<Page<FoundInvitation> | undefined> {
    return this.#store.read(async (tx) => {
      const organization = await authorizeOrganization(viewer, organizationName)(tx)
      if (organization === undefined) return undefined
      const { items, total } = await invitations.page(tx, 'organization', {
        prefix: [organization.id],
        ...slice,
      })
      return { items: await found(tx, items), total }
    })
  }

  /**
   * Takes an invitation back.
   * @returns whether there was one
   * @throws AllotError forbidden for others than owners
   */
  withdraw(viewer: SignedIn, organizationName: string, userName: string): Promise<boolean> {
    return this.#store.write(async (tx) => {
      const organization = await authorizeOrganization(viewer, organizationName)(tx)
      // An invited user who has become hidden can still be removed.
      const user = organization && (await accountByName(tx, userName))
      if (organization === undefined || user === undefined) return false
      return (await invitations.remove(tx, [organization.id, user.id])) !== undefined
    })
  }

  /** The invitations of the viewer, also those of organizations that only members see. */
  of(viewer: SignedIn, slice: Slice): Promise<Page<FoundInvitation>> {
    return this.#store.read(async (tx) => {
      // A job removes the invitations of deleted organizations.
      const all = await found(tx, await invitations.list(tx, 'account', { prefix: [viewer.id] }))
      return pageOfAll(all, slice)
    })
  }

  /**
   * Makes the viewer a member, or an owner, as invited.
   * @returns whether the viewer was invited
   */
  accept(viewer: SignedIn, organizationName: string): Promise<boolean> {
    return this.#store.write(async (tx) => {
      const invitation = await invitationOf(tx, viewer, organizationName)
      if (invitation === undefined) return false
      await existingAccount(tx, viewer.id)
      const { organization, owner } = invitation
      const before = await membershipOf(tx, organization, viewer.id)
      await saveRole(tx, organization, viewer.id, owner || before?.owner === true)
      return true
    })
  }

  /**
   * Ends an invitation of the viewer.
   * @returns whether there was one
   */
  decline(viewer: SignedIn, organizationName: string): Promise<boolean> {
    return this.#store.write(async (tx) => {
      const invitation = await invitationOf(tx, viewer, organizationName)
      if (invitation === undefined) return false
      await invitations.remove(tx, [invitation.organization, viewer.id])
      return true
    })
  }
}

/** The invitations whose organization and user exist. */
const found = async (tx: ReadTransaction, records: readonly Invitation[]): Promise<FoundInvitation[]> => {
  const ids = records.flatMap(({ organization, account }) => [organization, account])
  const known = await accounts.byIds(tx, ids)
  return records.flatMap((invitation) => {
    const [organization, user] = [known.get(invitation.organization), known.get(invitation.account)]
    return organization === undefined || user === undefined ? [] : [{ invitation, organization, user }]
  })
}

const invitationOf = async (
  tx: ReadTransaction,
  viewer: SignedIn,
  organizationName: string,
): Promise<Invitation | undefined> => {
  const organization = await accountByName(tx, organizationName)
  return organization && invitations.get(tx, [organization.id, viewer.id])
}

const refuseTooManyInvitations = async (
  tx: ReadTransaction,
  organization: Account,
  user: Account,
): Promise<void> => {
  if ((await invitations.count(tx, 'account', [user.id])) >= MAX_OF_USER)
    throw new AllotError('conflict', `${user.name} already has ${MAX_OF_USER} invitations`)
  if ((await invitations.count(tx, 'organization', [organization.id])) >= MAX_OF_ORGANIZATION)
    throw new AllotError('conflict', `${organization.name} already has ${MAX_OF_ORGANIZATION} invitations`)
}
