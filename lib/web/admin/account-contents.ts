/** What accounts own, as the page asks before it deletes one. The reads are bounded, however much that is. */
import type { Identity } from '../../accounts/access.ts'
import { type Ownership, ownershipOf } from '../../content/removal.ts'
import { RemovalSizes, type RemovedKind } from '../../content/usage/removal-sizes.ts'
import type { StorageItem } from '../../content/usage/storage-item.ts'
import { type Account, accounts, type RepositoryUsage } from '../../records/schema/index.ts'
import type { PageServices } from '../parts/route.ts'

/** Repositories that are listed at most. */
const MAX_LISTED = 20

export interface OwnedRepository extends Pick<StorageItem, 'id' | 'kind' | 'name' | 'isHidden'> {
  /** Name of the owner. */
  readonly owner: string
  readonly kinds: readonly RemovedKind[]
}

/** What owners have. */
export interface Contents {
  readonly kinds: readonly RemovedKind[]
  /** The largest repositories of all these owners, with what goes with each. */
  readonly repositories: readonly OwnedRepository[]
  /** Repositories that are not listed. */
  readonly more: number
}

export interface Owned {
  readonly ownership: Ownership
  /** Organizations that have no other owner. */
  readonly organizations: readonly Account[]
  /** Those of them that the account founded, which keep it from being deleted alone. */
  readonly founded: readonly Account[]
  /** What goes with the account: also that of these organizations when it is not deleted without them. */
  readonly contents: Contents
  /** What these organizations have, when they go only if the box is ticked. */
  readonly optional: Contents
}

export const ownedBy = async (services: PageServices, user: Identity, account: Account): Promise<Owned> => {
  const found = await services.store.read(async (tx) => {
    const ownership = await ownershipOf(tx, account.id)
    const ids = ownership.organizations.map(({ organization }) => organization)
    return { ownership, organizations: [...(await accounts.byIds(tx, ids)).values()] }
  })
  const { ownership, organizations } = found
  const isFounded = ({ id }: Account) =>
    ownership.organizations.some(({ organization, founder }) => organization === id && founder === true)
  // Without need of a purge, the account owns nothing else, and its organizations stay unless the box is
  // ticked.
  const [certain, optional] = ownership.isPurgeNeeded
    ? [[account, ...organizations], []]
    : [[account], organizations]
  return {
    ...found,
    founded: organizations.filter(isFounded),
    contents: await contentsOf(services, user, certain),
    optional: await contentsOf(services, user, optional),
  }
}

const contentsOf = async (
  services: PageServices,
  user: Identity,
  owners: readonly Account[],
): Promise<Contents> => {
  let listed: (StorageItem & { owner: string; usage: RepositoryUsage })[] = []
  let total = 0
  for (const owner of owners) {
    const slice = { offset: 0, limit: MAX_LISTED }
    const page = await services.hosting.storageItems.list(user, owner.id, { kind: 'repositories' }, slice)
    total += page.total
    const found = page.items.flatMap((item) =>
      item.usage === undefined ? [] : [{ ...item, owner: owner.name, usage: item.usage }],
    )
    listed = [...listed, ...found].sort((a, b) => b.size - a.size).slice(0, MAX_LISTED)
  }
  return services.store.read(async (tx) => {
    // Each within a budget of its own, so that the sums do not depend on how much the list read.
    const sizes = new RemovalSizes(tx)
    const repositories = await Promise.all(
      listed.map(async ({ owner, id, kind, name, isHidden, usage }) => ({
        owner,
        id,
        kind,
        name,
        isHidden,
        kinds: await sizes.ofRepository(usage),
      })),
    )
    const kinds = await new RemovalSizes(tx).ofOwners(owners.map(({ id }) => id))
    return { kinds, repositories, more: total - listed.length }
  })
}
