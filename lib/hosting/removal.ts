import { invalid } from '../errors.ts'
import type { Work } from '../records/errands.ts'
import { paced } from '../records/paced.ts'
import {
  type Account,
  accounts,
  follows,
  gpgKeys,
  memberships,
  packageVersions,
  repositories,
  sshKeys,
  stars,
  tokens,
  watches,
} from '../records/schema.ts'
import type { Change, Store } from '../records/store.ts'
import { ownsRepositories } from './accounts.ts'
import { ownsPackages } from './package-files.ts'
import { removeRedirects, removeRedirectsOf } from './redirects.ts'
import { unrelate } from './relations.ts'
import type { RepositoryParts } from './repositories.ts'
import { endSessions } from './sessions.ts'
import { removeToken } from './tokens.ts'

export interface Removal {
  /**
   * Deletes an account with all that is only its own: it is gone at once, and what is much goes in steps.
   * @param options.purge deletes its repositories and packages too.
   * @returns whether there was one
   * @throws AllotError invalid when it still owns repositories or packages, or an organization has no other owner.
   */
  remove(id: number, options?: { purge?: boolean }): Promise<boolean>
}

export const createRemoval = (
  store: Store,
  parts: RepositoryParts,
  told: { changed: (account: Account) => void; revoked: (hash: string) => void },
): Removal => ({
  async remove(id, options) {
    const removed = await store.write(async (tx) => {
      const account = await accounts.get(tx, [id])
      if (account === undefined) return false
      if (options?.purge !== true && (await ownsRepositories(tx, id)))
        throw invalid(
          'this account still owns repositories: delete or transfer them first, or ask with purge=true',
        )
      if (options?.purge !== true && (await ownsPackages(tx, id)))
        throw invalid('this account still owns packages: delete them first, or ask with purge=true')
      await leaveOrganizations(tx, account)
      for (const token of await tokens.list(tx, 'account', { prefix: [id] }))
        await removeToken(tx, token, told.revoked)
      await endSessions(tx, id)
      for (const key of await sshKeys.list(tx, 'account', { prefix: [id] }))
        await sshKeys.remove(tx, [key.id])
      for (const key of await gpgKeys.list(tx, 'account', { prefix: [id] }))
        await gpgKeys.remove(tx, [key.id])
      await parts.quota.forget(tx, id)
      await accounts.remove(tx, [id])
      await parts.errands.begin(tx, 'owner', id)
      tx.afterCommit(() => told.changed(account))
      return true
    })
    await parts.folders.idle()
    await parts.files.idle()
    return removed
  },
})

const leaveOrganizations = async (tx: Change, account: Account) => {
  for (const one of await memberships.list(tx, 'member', { prefix: [account.id] })) {
    const isLast = one.owner && (await memberships.count(tx, 'owners', [one.organization])) === 1
    if (isLast && (await accounts.get(tx, [one.organization])) !== undefined)
      throw invalid('this account is the only owner of an organization: name another owner first')
    await memberships.remove(tx, [one.organization, one.member])
  }
}

/**
 * Removes a repository and at most so much of what belongs to it, and leaves the rest to errands.
 * @returns how many records went
 */
export const removeRepository = async (
  tx: Change,
  { quota, errands, folders }: RepositoryParts,
  id: number,
  limit: number,
): Promise<number> => {
  await repositories.remove(tx, [id])
  await removeRedirects(tx, id)
  for (const fork of await repositories.list(tx, 'parent', { prefix: [id] }))
    await repositories.save(tx, { ...fork, parent: null })
  const entries = await quota.containers.close(tx, id, limit)
  const told = await errands.begin(tx, 'relations', id, limit - entries)
  const inside = await errands.begin(tx, 'contents', id, limit - entries - told)
  const released = await errands.begin(tx, 'files', id, limit - entries - told - inside)
  await folders.release(tx, id)
  return 1 + entries + told + inside + released
}

/** Removes what is left of an account that is gone. */
export const removingOwner = (parts: RepositoryParts): Work => ({
  // The folders of the last step.
  before: parts.folders.idle,
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
      parts.quota.clear,
    ]) {
      did += await remove(tx, id, limit - did)
      if (did >= limit) break
    }
    return did
  },
})

type Removing = Work['step']

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
  ({ errands }: RepositoryParts): Removing =>
  async (tx, owner, limit) => {
    let did = 0
    const owned = await packageVersions.list(tx, 'created', { prefix: [owner], limit })
    for await (const { id } of paced(owned)) {
      await packageVersions.remove(tx, [id])
      did += 1 + (await errands.begin(tx, 'package', id, limit - did - 1))
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
