import { type Account, accounts, type Repository, repositories } from '../records/schema.ts'
import type { ReadTransaction } from '../storage/driver.ts'
import { canRead, canSee, type Viewer } from './access.ts'

/** Names are compared without case. */
export const accountByName = (tx: ReadTransaction, name: string): Promise<Account | undefined> =>
  accounts.findBy(tx, 'name', [name.toLowerCase()])

/** An account by its name, for whoever may know that it exists. */
export const visibleAccount = async (
  tx: ReadTransaction,
  viewer: Viewer,
  name: string,
): Promise<Account | undefined> => {
  const account = await accountByName(tx, name)
  return account !== undefined && (await canSee(tx, viewer, account)) ? account : undefined
}

export const repositoryByName = async (
  tx: ReadTransaction,
  ownerName: string,
  name: string,
): Promise<Repository | undefined> => {
  const owner = await accountByName(tx, ownerName)
  return owner && repositories.findBy(tx, 'name', [owner.id, name.toLowerCase()])
}

/** A repository by its names, for whoever may read it. */
export const readableRepository = async (
  tx: ReadTransaction,
  viewer: Viewer,
  ownerName: string,
  name: string,
): Promise<Repository | undefined> => {
  const repository = await repositoryByName(tx, ownerName, name)
  return repository !== undefined && (await canRead(tx, viewer, repository)) ? repository : undefined
}
