import { ownsRepositories, type Removal } from '../accounts/accounts.ts'
import type { Authorizer, Target } from '../accounts/authorize.ts'
import { endSessions } from '../accounts/sessions.ts'
import { removeToken } from '../accounts/tokens.ts'
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
import type { ReadTransaction } from '../storage/driver.ts'
import { ownsPackages } from './package-files.ts'

export const createRemoval = (
  store: Store,
  parts: RepositoryParts,
  told: { changed: (account: Account) => void; revoked: (hash: string) => void },
): Removal => {
  const removeAccount = async (tx: WriteContext, account: Account, purge: boolean): Promise<void> => {
    const { id } = account
    if (!purge) await refuseOwner(tx, account)
    await leaveOrganizations(tx, id)
    for (const token of await tokens.list(tx, 'account', { prefix: [id] }))
      await removeToken(tx, token, told.revoked)
    await endSessions(tx, id)
    for (const key of await sshKeys.list(tx, 'account', { prefix: [id] })) await sshKeys.remove(tx, [key.id])
    for (const key of await gpgKeys.list(tx, 'account', { prefix: [id] })) await gpgKeys.remove(tx, [key.id])
    await parts.quota.unassignOwner(tx, id)
    await accounts.remove(tx, [id])
    await parts.jobs.runNow(tx, 'owner', id)
    tx.afterCommit(() => told.changed(account))
  }

  /** @returns the organizations to delete first, or whether the account existed. */
  const attempt = (which: Target<Account>, purge: boolean): Promise<readonly Membership[] | boolean> =>
    store.write(async (tx) => {
      const account = await (typeof which === 'number' ? accounts.get(tx, [which]) : which(tx))
      if (account === undefined) return false
      const owned = purge ? await solelyOwned(tx, account.id) : []
      if (owned.length > 0) return owned
      await removeAccount(tx, account, purge)
      return true
    })

  const remove: Removal['remove'] = async (which, { purge = false } = {}) => {
    let outcome = await attempt(which, purge)
    while (typeof outcome !== 'boolean') {
      for (const membership of outcome) await attempt(stillSolelyOwned(membership), true)
      outcome = await attempt(which, purge)
    }
    await parts.folders.idle()
    await parts.files.idle()
    return outcome
  }
  return { remove }
}

/** @throws AllotError invalid for an account that owns something */
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
  for (const one of await memberships.list(tx, 'member', { prefix: [account] }))
    if (await isSoleOwner(tx, one)) found.push(one)
  return found
}

const isSoleOwner = async (tx: ReadTransaction, { organization, owner }: Membership): Promise<boolean> =>
  owner &&
  (await memberships.count(tx, 'owners', [organization])) === 1 &&
  // The memberships of a deleted organization are removed in steps.
  (await accounts.get(tx, [organization])) !== undefined

/** The organization, unless it has another owner by now. */
const stillSolelyOwned =
  ({ organization, member }: Membership): Authorizer<Account> =>
  async (tx) => {
    const now = await memberships.get(tx, [organization, member])
    return now !== undefined && (await isSoleOwner(tx, now)) ? accounts.get(tx, [organization]) : undefined
  }

const leaveOrganizations = async (tx: WriteContext, account: number): Promise<void> => {
  for (const one of await memberships.list(tx, 'member', { prefix: [account] }))
    await memberships.remove(tx, [one.organization, one.member])
}

/** Removes what is left of an account that is gone. */
export const removeOwnerJob = (parts: RepositoryParts): JobHandler => ({
  // The folders of the last step.
  prepare: parts.folders.idle,
  async step(tx, id, limit) {
    if ((await accounts.get(tx, [id])) !== undefined) return 0
    let did = 0
    for (const remove of [
      removeRepositories(parts),
      removePackages(parts),
      removeRelations,
      removeFollows,
      removeMembers,
      removeRedirectsOf,
      parts.quota.removeOwnerEntries,
    ]) {
      did += await remove(tx, id, limit - did)
      if (did >= limit) break
    }
    return did
  },
})

type Removing = JobHandler['step']

const removeRepositories =
  (parts: RepositoryParts): Removing =>
  async (tx, owner, limit) => {
    let did = 0
    const owned = await repositories.list(tx, 'id', { prefix: [owner], limit })
    for await (const { id } of paced(owned)) {
      did += await removeRepository(tx, parts, id, limit - did)
      if (did >= limit) break
    }
    return did
  }

const removePackages =
  ({ jobs }: RepositoryParts): Removing =>
  async (tx, owner, limit) => {
    let did = 0
    const owned = await packageVersions.list(tx, 'created', { prefix: [owner], limit })
    for await (const { id } of paced(owned)) {
      await packageVersions.remove(tx, [id])
      did += 1 + (await jobs.runNow(tx, 'package', id, limit - did - 1))
      if (did >= limit) break
    }
    return did
  }

const removeRelations: Removing = async (tx, account, limit) => {
  let did = 0
  for (const [relation, count] of [
    [stars, 'stars'],
    [watches, 'watchers'],
  ] as const) {
    const set = await relation.list(tx, 'account', { prefix: [account], limit: limit - did })
    for await (const one of paced(set)) {
      const repository = await repositories.get(tx, [one.repository])
      if (repository !== undefined) await unrelate(tx, relation, count, account, repository)
      else await relation.remove(tx, [account, one.repository])
    }
    did += set.length
  }
  return did
}

const removeFollows: Removing = async (tx, account, limit) => {
  let did = 0
  for (const index of ['followers', 'following'] as const) {
    const found = await follows.list(tx, index, { prefix: [account], limit: limit - did })
    for await (const one of paced(found)) await follows.remove(tx, [one.follower, one.followed])
    did += found.length
  }
  return did
}

const removeMembers: Removing = async (tx, organization, limit) => {
  const found = await memberships.list(tx, 'organization', { prefix: [organization], limit })
  for await (const one of paced(found)) await memberships.remove(tx, [one.organization, one.member])
  return found.length
}
