import { AllotError } from '../errors.ts'
import { type Account, accounts, type Repository, repositories } from '../records/schema/index.ts'
import type { ReadTransaction } from '../storage/driver.ts'
import { canRead, canSee, type ReadFor, type Viewer } from './access.ts'

/** No name is longer; a key could not hold what a request can. */
const MAX_LENGTH = 255

/** Names are compared without case. */
export const accountByName = async (tx: ReadTransaction, name: string): Promise<Account | undefined> =>
  name.length > MAX_LENGTH ? undefined : accounts.findBy(tx, 'name', [name.toLowerCase()])

export const accountByEmail = async (tx: ReadTransaction, email: string): Promise<Account | undefined> =>
  email.length > MAX_LENGTH ? undefined : accounts.findBy(tx, 'email', [email.toLowerCase()])

/** Within the write that adds something of an account's: it may have been deleted since the request was let in. */
export const existingAccount = async (tx: ReadTransaction, id: number): Promise<Account> => {
  const account = await accounts.get(tx, [id])
  if (account === undefined) throw new AllotError('not_found', 'the account is gone')
  return account
}

/** An account by its name, for whoever may know that it exists. */
export const visibleAccount = async (
  tx: ReadTransaction,
  viewer: Viewer,
  name: string,
): Promise<Account | undefined> => {
  const account = await accountByName(tx, name)
  return account !== undefined && (await canSee(tx, viewer, account)) ? account : undefined
}

/** An organization by its name, likewise. */
export const visibleOrganization = async (
  tx: ReadTransaction,
  viewer: Viewer,
  name: string,
): Promise<Account | undefined> => {
  const account = await visibleAccount(tx, viewer, name)
  return account?.kind === 'organization' ? account : undefined
}

export const repositoryByName = async (
  tx: ReadTransaction,
  ownerName: string,
  name: string,
): Promise<Repository | undefined> => {
  const owner = await accountByName(tx, ownerName)
  if (name.length > MAX_LENGTH) return undefined
  return owner && repositories.findBy(tx, 'name', [owner.id, name.toLowerCase()])
}

/** A repository is gone with its owner, whose other things are removed in steps. */
export const repositoryById = async (tx: ReadTransaction, id: number): Promise<Repository | undefined> => {
  const repository = await repositories.get(tx, [id])
  if (repository === undefined) return undefined
  return (await accounts.get(tx, [repository.owner])) && repository
}

/** A repository by its names, for whoever may read it. */
export const readableRepository = async (
  tx: ReadTransaction,
  viewer: Viewer,
  ownerName: string,
  name: string,
  readFor?: ReadFor,
): Promise<Repository | undefined> => {
  const repository = await repositoryByName(tx, ownerName, name)
  return repository !== undefined && (await canRead(tx, viewer, repository, readFor)) ? repository : undefined
}
