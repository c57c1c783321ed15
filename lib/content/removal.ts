import { refuseLastAdministrator } from '../accounts/account-records.ts'
import type { Removal, RemovalOptions } from '../accounts/accounts.ts'
import { type Authorizer, accountAt, type Target } from '../accounts/authorize.ts'
import { type Actor, recordAudit } from '../audit.ts'
import { AllotError } from '../errors.ts'
import { removeBelongings } from '../records/schema/belongings.ts'
import {
  type Account,
  accounts,
  type Membership,
  memberships,
  packageVersions,
  repositories,
} from '../records/schema/index.ts'
import type { WriteContext } from '../records/store.ts'
import type { RepositoryServices } from '../repositories/repositories.ts'
import type { ReadTransaction } from '../storage/index.ts'

/** Deletes users and organizations with everything that belongs to them alone. */
export class AccountRemoval implements Removal {
  readonly #services: RepositoryServices

  constructor(services: RepositoryServices) {
    this.#services = services
  }

  /** See `Accounts.remove`. */
  async remove(which: Target<Account>, { purge = false, by }: RemovalOptions = {}): Promise<boolean> {
    let outcome = await this.#tryRemove(which, purge, by)
    while (typeof outcome !== 'boolean') {
      for (const membership of outcome) await this.#tryRemove(stillSolelyOwned(membership), true, by)
      outcome = await this.#tryRemove(which, purge, by)
    }
    return outcome
  }

  /** @returns memberships in the organizations to delete first, or whether the account existed */
  #tryRemove(
    which: Target<Account>,
    purge: boolean,
    by: Actor | undefined,
  ): Promise<readonly Membership[] | boolean> {
    return this.#services.disk.write(async (tx) => {
      const account = await accountAt(tx, which)
      if (account === undefined) return false
      await refuseLastAdministrator(tx, by, account)
      const owned = purge ? await solelyOwned(tx, account.id) : []
      if (owned.length > 0) return owned
      if (!purge) await refuseWhileOwning(tx, account)
      await this.#removeAccount(tx, account.id)
      const before = { kind: account.kind, purge }
      await recordAudit(tx, by, { action: 'account deleted', subject: account.name, before })
      return true
    })
  }

  async #removeAccount(tx: WriteContext, id: number): Promise<void> {
    await removeBelongings(tx, 'account', id, 'now')
    await removeBelongings(tx, 'owner', id, 'now')
    await accounts.remove(tx, [id])
    await this.#services.jobs.runNow(tx, 'removeAccountData', id)
  }
}

/** What an account owns, and what `purge` deletes with it. */
export interface Ownership {
  readonly repositories: number
  /** Versions of packages. */
  readonly packages: number
  /** Organizations that have no other owner. */
  readonly organizations: readonly Membership[]
  /** Whether the account is deleted only with `purge`. */
  readonly isPurgeNeeded: boolean
}

export const ownershipOf = async (tx: ReadTransaction, account: number): Promise<Ownership> => {
  const repositories = await countRepositories(tx, account)
  const packages = await packageVersions.count(tx, 'owner', [account])
  const organizations = await solelyOwned(tx, account)
  const isPurgeNeeded =
    repositories > 0 || packages > 0 || organizations.some(({ founder }) => founder === true)
  return { repositories, packages, organizations, isPurgeNeeded }
}

const countRepositories = async (tx: ReadTransaction, owner: number): Promise<number> => {
  const counts = await Promise.all(
    [false, true].map((isPrivate) => repositories.count(tx, 'owner', [owner, isPrivate])),
  )
  return counts.reduce((sum, count) => sum + count, 0)
}

/** What keeps an account from being deleted alone. */
type Obstacle = 'repositories' | 'packages' | 'organization'

/** The message is for the API, whose parameter it names. */
export class OwnerError extends AllotError {
  readonly obstacle: Obstacle

  constructor(obstacle: Obstacle, message: string) {
    super('invalid', message)
    this.obstacle = obstacle
  }
}

/**
 * @throws OwnerError when the account still owns repositories, packages or an organization that it founded
 */
const refuseWhileOwning = async (tx: ReadTransaction, { id, kind }: Account): Promise<void> => {
  const what = kind === 'user' ? 'this account' : 'this organization'
  const { repositories, packages, isPurgeNeeded } = await ownershipOf(tx, id)
  if (repositories > 0)
    throw new OwnerError(
      'repositories',
      `${what} still owns repositories: delete or transfer them first, or set purge=true to delete them too`,
    )
  if (packages > 0)
    throw new OwnerError(
      'packages',
      `${what} still owns packages: delete them first, or set purge=true to delete them too`,
    )
  if (isPurgeNeeded)
    throw new OwnerError(
      'organization',
      'this account is the only owner of an organization that it founded: name another owner, delete the organization, or set purge=true to delete it too',
    )
}

/** Memberships of an account in the organizations that have no other owner. */
const solelyOwned = async (tx: ReadTransaction, account: number): Promise<Membership[]> => {
  const found: Membership[] = []
  for (const membership of await memberships.list(tx, 'member', { prefix: [account] }))
    if (await isSoleOwner(tx, membership)) found.push(membership)
  return found
}

const isSoleOwner = async (tx: ReadTransaction, { organization, owner }: Membership): Promise<boolean> =>
  owner &&
  (await memberships.count(tx, 'owners', [organization])) === 1 &&
  // Memberships of deleted organizations are removed in steps, by a job.
  (await accounts.get(tx, [organization])) !== undefined

/** The organization, unless it has gained another owner since. */
const stillSolelyOwned =
  ({ organization, member }: Membership): Authorizer<Account> =>
  async (tx) => {
    const current = await memberships.get(tx, [organization, member])
    if (current === undefined || !(await isSoleOwner(tx, current))) return undefined
    return accounts.get(tx, [organization])
  }
