import type { SignedIn } from '../accounts/access.ts'
import { authorizeOwner, isOwnerOf, requireScopeInto } from '../accounts/authorize.ts'
import { readableRepository, visibleAccount } from '../accounts/find.ts'
import { offerOf, owns } from '../accounts/rights.ts'
import { now } from '../clock.ts'
import { AllotError, invalidMember } from '../errors.ts'
import {
  type Account,
  accounts,
  type Repository,
  repositories,
  type Transfer,
  transfers,
} from '../records/schema/index.ts'
import type { Store, WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import type { RepositoryName } from './names.ts'
import type { Repositories } from './repositories.ts'

/** Offers that an owner can have at a time. */
const MAX_OFFERS = 100

/** Result of a transfer: the repository was moved, or offered to its new owner. */
interface Transferred {
  readonly repository: Repository
  readonly isOffered: boolean
}

/**
 * Transfers of repositories. Users who own the new owner's account, too, move a repository at once, since its
 * quota pays for it; otherwise it is offered, and the new owner accepts or rejects it. An offer ends once the
 * user who made it can no longer give the repository away ({@link offerOf}).
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
   * @throws AllotError forbidden for anyone but an owner, and without the scope; conflict when it is offered
   * already, or when the new owner has too many offers; invalid when it moves at once to an owner who has a
   * repository of that name
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
      requireScopeInto(viewer, recipient)
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

  /**
   * Moves an offered repository to its new owner.
   * @returns undefined unless it is offered to the viewer
   * @throws AllotError forbidden without the scope; invalid when the new owner has a repository of that name
   */
  accept(viewer: SignedIn, name: RepositoryName): Promise<Repository | undefined> {
    return this.#move(
      async (tx) => (await offeredTo(tx, viewer, name))?.repository,
      async (tx) => {
        const found = await offeredTo(tx, viewer, name)
        const recipient = found && (await accounts.get(tx, [found.offer.recipient]))
        if (recipient !== undefined) requireScopeInto(viewer, recipient)
        return recipient
      },
      viewer.id,
    )
  }

  /**
   * Ends an offer.
   * @returns the repository; undefined unless it is offered to the viewer, or the viewer owns it
   */
  reject(viewer: SignedIn, name: RepositoryName): Promise<Repository | undefined> {
    return this.#store.write(async (tx) => {
      const found = await offered(tx, viewer, name)
      if (found === undefined) return undefined
      const { repository, offer } = found
      if (!(await owns(tx, viewer.id, offer.recipient)) && !(await isOwnerOf(tx, viewer, repository.owner)))
        return undefined
      await transfers.remove(tx, [repository.id])
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
        throw invalidMember('new_owner', error.message)
      throw error
    }
  }
}

const refuseFurtherOffer = async (
  tx: WriteContext,
  repository: Repository,
  recipient: Account,
): Promise<void> => {
  if ((await offerOf(tx, repository)) !== undefined)
    throw new AllotError('conflict', 'the repository is already offered: reject that transfer first')
  if ((await transfers.count(tx, 'recipient', [recipient.id])) < MAX_OFFERS) return
  if ((await removeEnded(tx, recipient.id)) === 0)
    throw new AllotError('conflict', `${recipient.name} already has ${MAX_OFFERS} offers`)
}

/**
 * Removes the offers to a recipient that have ended, which nobody sees and could reject.
 * @returns how many
 */
const removeEnded = async (tx: WriteContext, recipient: number): Promise<number> => {
  let removed = 0
  for (const { repository } of await transfers.list(tx, 'recipient', { prefix: [recipient] })) {
    const offeredOne = await repositories.get(tx, [repository])
    if (offeredOne !== undefined && (await offerOf(tx, offeredOne)) !== undefined) continue
    await transfers.remove(tx, [repository])
    removed++
  }
  return removed
}

interface Offered {
  readonly repository: Repository
  readonly offer: Transfer
}

/** A repository that the viewer can read, as those can to whom it is offered. */
const offered = async (
  tx: ReadTransaction,
  viewer: SignedIn,
  { owner, name }: RepositoryName,
): Promise<Offered | undefined> => {
  const repository = await readableRepository(tx, viewer, owner, name)
  const offer = repository && (await offerOf(tx, repository))
  return repository && offer && { repository, offer }
}

/** A repository that the viewer may accept. */
const offeredTo = async (
  tx: ReadTransaction,
  viewer: SignedIn,
  name: RepositoryName,
): Promise<Offered | undefined> => {
  const found = await offered(tx, viewer, name)
  return found !== undefined && (await owns(tx, viewer.id, found.offer.recipient)) ? found : undefined
}
