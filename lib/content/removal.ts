import type { Authorizer, Target } from '../accounts/access.ts'
import { type Accounts, ownsRepositories } from '../accounts/accounts.ts'
import { endSessions, removeToken } from '../accounts/credentials.ts'
import { invalid } from '../errors.ts'
import type { JobHandler } from '../records/jobs.ts'
import { paced } from '../records/pacing.ts'
import {
  type Account,
  accounts,
  follows,
  gpgKeys,
  type Membership,
  memberships,
  packageVersions,
  repositories,
  sshKeys,
  stars,
  tokens,
  watches,
} from '../records/schema/index.ts'
import type { Store, WriteContext } from '../records/store.ts'
import { removeRedirectsOf } from '../repositories/redirects.ts'
import { unrelate } from '../repositories/relations.ts'
import { type RepositoryParts, removeRepository } from '../repositories/repositories.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { ownsPackages } from './package-files.ts'

/** @param on called after the commit with each account that was deleted, and the hash of each token that was revoked */
export const createRemoval = (
  store: Store,
  parts: RepositoryParts,
  on: { accountChange: (account: Account) => void; tokenRevoked: (hash: string) => void },
): Pick<Accounts, 'remove'> => {
  const removeAccount = async (tx: WriteContext, account: Account, purge: boolean): Promise<void> => {
    const { id } = account
    if (!purge) await refuseOwner(tx, account)
    await leaveOrganizations(tx, id)
    for (const token of await tokens.list(tx, 'account', { prefix: [id] }))
      await removeToken(tx, token, on.tokenRevoked)
    await endSessions(tx, id)
    for (const key of await sshKeys.list(tx, 'account', { prefix: [id] })) await sshKeys.remove(tx, [key.id])
    for (const key of await gpgKeys.list(tx, 'account', { prefix: [id] })) await gpgKeys.remove(tx, [key.id])
    await parts.quota.unassignOwner(tx, id)
    await accounts.remove(tx, [id])
    await parts.jobs.runNow(tx, 'owner', id)
    tx.afterCommit(() => on.accountChange(account))
  }

  /** @returns memberships in the organizations to delete first, or whether the account existed */
  const tryRemove = (which: Target<Account>, purge: boolean): Promise<readonly Membership[] | boolean> =>
    store.write(async (tx) => {
      const account = await (typeof which === 'number' ? accounts.get(tx, [which]) : which(tx))
      if (account === undefined) return false
      const owned = purge ? await solelyOwned(tx, account.id) : []
      if (owned.length > 0) return owned
      await removeAccount(tx, account, purge)
      return true
    })

  const remove: Accounts['remove'] = async (which, { purge = false } = {}) => {
    let outcome = await tryRemove(which, purge)
    while (typeof outcome !== 'boolean') {
      for (const membership of outcome) await tryRemove(stillSolelyOwned(membership), true)
      outcome = await tryRemove(which, purge)
    }
    await parts.folders.idle()
    await parts.files.idle()
    return outcome
  }
  return { remove }
}

/** @throws AllotError invalid when the account still owns repositories, packages or an organization that it founded */
const refuseOwner = async (tx: ReadTransaction, { id, kind }: Account): Promise<void> => {
  const what = kind === 'user' ? 'this account' : 'this organization'
  if (await ownsRepositories(tx, id))
    throw invalid(
      `${what} still owns repositories: delete or transfer them first, or set purge=true to delete them too`,
    )
  if (await ownsPackages(tx, id))
    throw invalid(`${what} still owns packages: delete them first, or set purge=true to delete them too`)
  if ((await solelyOwned(tx, id)).some(({ founder }) => founder === true))
    throw invalid(
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

/** The organization, unless it has got another owner meanwhile. */
const stillSolelyOwned =
  ({ organization, member }: Membership): Authorizer<Account> =>
  async (tx) => {
    const current = await memberships.get(tx, [organization, member])
    if (current === undefined || !(await isSoleOwner(tx, current))) return undefined
    return accounts.get(tx, [organization])
  }

const leaveOrganizations = async (tx: WriteContext, account: number): Promise<void> => {
  for (const { organization, member } of await memberships.list(tx, 'member', { prefix: [account] }))
    await memberships.remove(tx, [organization, member])
}

/** Removes the remaining records of a deleted account. */
export const removeOwnerJob = (parts: RepositoryParts): JobHandler => ({
  // Waits for the folders that the previous step released.
  prepare: parts.folders.idle,
  async step(tx, id, limit) {
    if ((await accounts.get(tx, [id])) !== undefined) return 0
    let removed = 0
    for (const remove of [
      removeRepositories(parts),
      removePackages(parts),
      removeRelations,
      removeFollows,
      removeMembers,
      removeRedirectsOf,
      parts.quota.removeOwnerEntries,
    ]) {
      removed += await remove(tx, id, limit - removed)
      if (removed >= limit) break
    }
    return removed
  },
})

type RemovalStep = JobHandler['step']

const removeRepositories =
  (parts: RepositoryParts): RemovalStep =>
  async (tx, owner, limit) => {
    let removed = 0
    const owned = await repositories.list(tx, 'id', { prefix: [owner], limit })
    for await (const { id } of paced(owned)) {
      removed += await removeRepository(tx, parts, id, limit - removed)
      if (removed >= limit) break
    }
    return removed
  }

const removePackages =
  ({ jobs }: RepositoryParts): RemovalStep =>
  async (tx, owner, limit) => {
    let removed = 0
    const owned = await packageVersions.list(tx, 'created', { prefix: [owner], limit })
    for await (const { id } of paced(owned)) {
      await packageVersions.remove(tx, [id])
      removed += 1 + (await jobs.runNow(tx, 'package', id, limit - removed - 1))
      if (removed >= limit) break
    }
    return removed
  }

const removeRelations: RemovalStep = async (tx, account, limit) => {
  let removed = 0
  for (const [relation, count] of [
    [stars, 'stars'],
    [watches, 'watchers'],
  ] as const) {
    const found = await relation.list(tx, 'account', { prefix: [account], limit: limit - removed })
    for await (const { repository: id } of paced(found)) {
      const repository = await repositories.get(tx, [id])
      if (repository !== undefined) await unrelate(tx, relation, count, account, repository)
      else await relation.remove(tx, [account, id])
    }
    removed += found.length
  }
  return removed
}

const removeFollows: RemovalStep = async (tx, account, limit) => {
  let removed = 0
  for (const index of ['followers', 'following'] as const) {
    const found = await follows.list(tx, index, { prefix: [account], limit: limit - removed })
    for await (const { follower, followed } of paced(found)) await follows.remove(tx, [follower, followed])
    removed += found.length
  }
  return removed
}

const removeMembers: RemovalStep = async (tx, organization, limit) => {
  const found = await memberships.list(tx, 'organization', { prefix: [organization], limit })
  for await (const { member } of paced(found)) await memberships.remove(tx, [organization, member])
  return found.length
}
