import { invalid } from '../errors.ts'
import type { QuotaEngine } from '../quota/index.ts'
import {
  type Account,
  accounts,
  follows,
  gpgKeys,
  memberships,
  repositories,
  sshKeys,
  stars,
  tokens,
  watches,
} from '../records/schema.ts'
import type { Change, Store } from '../records/store.ts'
import { ownsRepositories } from './accounts.ts'
import { unrelate } from './relations.ts'
import { removeRepository } from './repositories.ts'
import { removeToken } from './tokens.ts'

export interface Removal {
  /**
   * Deletes an account with all that is only its own, in one write.
   * @param options.purge deletes its repositories too.
   * @returns ids of the repositories that went with it, whose files remain to be removed; undefined: no such account
   * @throws AllotError invalid when it still owns repositories, or an organization has no other owner.
   */
  remove(id: number, options?: { purge?: boolean }): Promise<number[] | undefined>
}

export const createRemoval = (
  store: Store,
  quota: QuotaEngine,
  told: { changed: (account: Account) => void; revoked: (hash: string) => void },
): Removal => ({
  remove: (id, options) =>
    store.write(async (tx) => {
      const account = await accounts.get(tx, [id])
      if (account === undefined) return undefined
      const removed = await removeRepositories(tx, quota, id, options?.purge === true)
      await leaveOrganizations(tx, account)
      await removeRelations(tx, id)
      for (const token of await tokens.list(tx, 'account', { prefix: [id] }))
        await removeToken(tx, token, told.revoked)
      for (const key of await sshKeys.list(tx, 'account', { prefix: [id] }))
        await sshKeys.remove(tx, [key.id])
      for (const key of await gpgKeys.list(tx, 'account', { prefix: [id] }))
        await gpgKeys.remove(tx, [key.id])
      await quota.forget(tx, id)
      await accounts.remove(tx, [id])
      tx.afterCommit(() => told.changed(account))
      return removed
    }),
})

const removeRepositories = async (
  tx: Change,
  quota: QuotaEngine,
  owner: number,
  purge: boolean,
): Promise<number[]> => {
  if (!purge && (await ownsRepositories(tx, owner)))
    throw invalid(
      'this account still owns repositories: delete or transfer them first, or ask with purge=true',
    )
  const owned = await repositories.list(tx, 'id', { prefix: [owner] })
  for (const repository of owned) await removeRepository(tx, quota, repository.id)
  return owned.map((repository) => repository.id)
}

const leaveOrganizations = async (tx: Change, account: Account) => {
  for (const one of await memberships.list(tx, 'member', { prefix: [account.id] })) {
    if (one.owner && (await memberships.count(tx, 'owners', [one.organization])) === 1)
      throw invalid('this account is the only owner of an organization: name another owner first')
    await memberships.remove(tx, [one.organization, one.member])
  }
  if (account.kind === 'user') return
  for (const one of await memberships.list(tx, 'organization', { prefix: [account.id] }))
    await memberships.remove(tx, [one.organization, one.member])
}

const removeRelations = async (tx: Change, id: number) => {
  for (const [relation, count] of [
    [stars, 'stars'],
    [watches, 'watchers'],
  ] as const)
    for (const one of await relation.list(tx, 'account', { prefix: [id] })) {
      const repository = await repositories.get(tx, [one.repository])
      if (repository !== undefined) await unrelate(tx, relation, count, id, repository)
    }
  for (const index of ['followers', 'following'] as const)
    for (const one of await follows.list(tx, index, { prefix: [id] }))
      await follows.remove(tx, [one.follower, one.followed])
}
