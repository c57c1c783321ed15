import { type Identity, membershipOf, type Viewer } from '../../accounts/access.ts'
import { accountOwners } from '../../accounts/accounts.ts'
import { visibleOrganization } from '../../accounts/find.ts'
import type { UsageLists } from '../../content/usage/ledger-lists.ts'
import { AllotError, isOwnerName } from '../../errors.ts'
import type { Hosting } from '../../hosting/create.ts'
import type { Options } from '../../options/index.ts'
import { hostOwnerDirectory } from '../../quota/host-owners.ts'
import type { Owner, OwnerDirectory } from '../../quota/owners.ts'
import { type QuotaOwner, quotaOwners } from '../../records/schema/index.ts'
import type { Store } from '../../records/store.ts'
import type { ReadTransaction } from '../../storage/index.ts'
import { timestamp } from '../fields.ts'
import { resourcesFor } from '../kit.ts'
import { missing, type Recipient, type Services } from '../route.ts'
import { presentUser, type User } from '../users.ts'

/** The services for handlers of quota routes, in a whole Allot and in what `createQuota` opens. */
export interface QuotaServices extends Pick<Services, 'store' | 'quota' | 'htmlUrls' | 'documentFor'> {
  readonly options: Pick<Options, 'dialect'>
  readonly hosting: Pick<Hosting, 'ledger' | 'plans'> & { readonly usage: Pick<UsageLists, 'used'> }
  readonly owners: QuotaOwners
}

/** Declares the routes of a resource that needs nothing but {@link QuotaServices}. */
export const quotaAt: ReturnType<typeof resourcesFor<QuotaServices>> = resourcesFor()

/** The owners of quota, as requests name them and responses show them. */
interface QuotaOwners {
  readonly directory: OwnerDirectory
  /** @returns undefined when the viewer can see no such owner */
  find(viewer: Viewer, name: string): Promise<Owner | undefined>
  /** @throws AllotError not_found for an unknown organization; forbidden when the user does not own it */
  findOrganization(tx: ReadTransaction, user: Identity, name: string): Promise<Owner>
  /** The representations of the owners that exist, by id. */
  present(ids: readonly number[], recipient: Recipient): Promise<ReadonlyMap<number, User>>
}

/** Users and organizations. */
export const accountQuotaOwners = ({ accounts }: Hosting): QuotaOwners => ({
  directory: accountOwners,
  find: (viewer, name) => accounts.find(viewer, name),
  async findOrganization(tx, user, name) {
    const organization = await visibleOrganization(tx, user, name)
    if (organization === undefined) throw missing()
    if (!user.admin && (await membershipOf(tx, organization.id, user.id))?.owner !== true)
      throw new AllotError('forbidden', 'Must be an organization owner')
    return organization
  },
  async present(ids, recipient) {
    const found = await accounts.byIds(ids)
    return new Map(found.map((account) => [account.id, presentUser(account, recipient)]))
  },
})

/** The owners of the host, where a name that no owner can have is an unknown one. */
const pathOwners: OwnerDirectory = {
  ...hostOwnerDirectory,
  find: async (tx, name) => (isOwnerName(name) ? hostOwnerDirectory.find(tx, name) : undefined),
  claim: async (tx, name) => (isOwnerName(name) ? hostOwnerDirectory.claim(tx, name) : undefined),
}

/** Owners that the host names itself. */
export const namedQuotaOwners = (store: Store): QuotaOwners => ({
  directory: pathOwners,
  find: (_viewer, name) => store.read((tx) => pathOwners.find(tx, name)),
  findOrganization: () => Promise.reject(missing()),
  async present(ids) {
    const found = await store.read((tx) => quotaOwners.byIds(tx, ids))
    return new Map([...found].map(([id, owner]) => [id, presentOwner(owner)]))
  },
})

/** Has the members of a user, so that clients of the API can read it. The pages of owners are the host's. */
const presentOwner = ({ id, name, createdAt }: QuotaOwner): User => ({
  id,
  login: name,
  username: name,
  full_name: '',
  email: '',
  avatar_url: '',
  html_url: '',
  is_admin: false,
  active: true,
  created: timestamp(createdAt),
  visibility: 'private',
  location: '',
  website: '',
  description: '',
})
