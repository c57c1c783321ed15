import { membershipOf, repositoryByName, type SignedIn, visibleAccount } from '../accounts/access.ts'
import { authorizeOwner, isOwnerOf } from '../accounts/authorize.ts'
import { now } from '../clock.ts'
import { AllotError, invalid } from '../errors.ts'
import { type Account, accounts, type Repository, transfers } from '../records/schema/index.ts'
import type { Store } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import type { RepositoryName } from './relations.ts'
import type { Repositories } from './repositories.ts'

/** Offers that an owner can have at a time. */
const MAX_OFFERS = 100

/** Result of a transfer: the repository was moved, or offered to its new owner. */
interface Transferred {
  readonly repository: Repository
  readonly isOffered: boolean
}

/**
 * Transfers of repositories. Users who own the new owner's account, too, move a repository at once, since its quota pays for
 * it; otherwise it is offered, and the new owner accepts or rejects it.
 */
export class Transfers {
  readonly #store: Store
  readonly #repositories: Repositories

  constructor(store: Store, repositories: Repositories) {
    this.#store = store
    this.#repositories = repositories
  }

  /**
   * @returns undefined when the repository or the new owner does not exist or is hidden
   * @throws AllotError forbidden for anyone but an owner; conflict when it is offered already, or when it moves at once to an
   * owner who has a repository of that name; an offer fails only when it is accepted
   */
  async begin(
    viewer: SignedIn,
    { owner, name }: RepositoryName,
    newOwner: string,
  ): Promise<Transferred | undefined> {
    const authorize = authorizeOwner(viewer, owner, name)
    const offered = await this.#store.write(async (tx) => {
      const repository = await authorize(tx)
      const recipient = repository && (await visibleAccount(tx, viewer, newOwner))
      if (repository === undefined || recipient === undefined) return undefined
      if (await isOwnerOf(tx, viewer, recipient.id)) return 'move'
      await refuseFurtherOffer(tx, repository, recipient)
      const offer = { repository: repository.id, doer: viewer.id, recipient: recipient.id }
      await transfers.save(tx, { ...offer, createdAt: now() })
      return repository
    })
    if (offered !== 'move') return offered && { repository: offered, isOffered: true }
    // Found and authorized again within the write that moves it.
    const to = async (tx: ReadTransaction) => {
      const recipient = await visibleAccount(tx, viewer, newOwner)
      return recipient !== undefined && (await isOwnerOf(tx, viewer, recipient.id)) ? recipient : undefined
    }
    const repository = await this.#move(authorize, to, viewer.id)
    return repository && { repository, isOffered: false }
  }

  /** Moves an offered repository to its new owner. @returns undefined unless it is offered to the viewer */
  accept(viewer: SignedIn, name: RepositoryName): Promise<Repository | undefined> {
    return this.#move(
      (tx) => offeredRepository(tx, viewer, name),
      async (tx) => {
        const repository = await offeredRepository(tx, viewer, name)
        const transfer = repository && (await transfers.get(tx, [repository.id]))
        return transfer && accounts.get(tx, [transfer.recipient])
      },
      viewer.id,
    )
  }

  /** Ends an offer. @returns the repository; undefined unless it is offered to the viewer, or the viewer owns it */
  reject(viewer: SignedIn, name: RepositoryName): Promise<Repository | undefined> {
    return this.#store.write(async (tx) => {
      const repository = await offeredRepository(tx, viewer, name, { byOwner: true })
      if (repository !== undefined) await transfers.remove(tx, [repository.id])
      return repository
    })
  }

  async #move(
    which: (tx: ReadTransaction) => Promise<Repository | undefined>,
    to: (tx: ReadTransaction) => Promise<Account | undefined>,
    by: number,
  ): Promise<Repository | undefined> {
    try {
      return await this.#repositories.transfer(which, to, by)
    } catch (error) {
      // Clients expect 422 for a name that the new owner has.
      if (error instanceof AllotError && error.code === 'conflict')
        throw invalid(`new_owner: ${error.message}`)
      throw error
    }
  }
}

const refuseFurtherOffer = async (
  tx: ReadTransaction,
  repository: Repository,
  recipient: Account,
): Promise<void> => {
  if ((await transfers.get(tx, [repository.id])) !== undefined)
    throw new AllotError('conflict', 'the repository is already offered: reject that transfer first')
  if ((await transfers.count(tx, 'recipient', [recipient.id])) >= MAX_OFFERS)
    throw new AllotError('conflict', `${recipient.name} already has ${MAX_OFFERS} offers`)
}

const offeredRepository = async (
  tx: ReadTransaction,
  viewer: SignedIn,
  { owner, name }: RepositoryName,
  { byOwner = false } = {},
): Promise<Repository | undefined> => {
  const repository = await repositoryByName(tx, owner, name)
  const transfer = repository && (await transfers.get(tx, [repository.id]))
  if (repository === undefined || transfer === undefined) return undefined
  const mayAccept =
    viewer.id === transfer.recipient ||
    (await membershipOf(tx, transfer.recipient, viewer.id))?.owner === true
  if (mayAccept || (byOwner && (await isOwnerOf(tx, viewer, repository.owner)))) return repository
  return undefined
}
