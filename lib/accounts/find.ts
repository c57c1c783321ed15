import { existing, invalid, NAME_LIMIT } from '../errors.ts'
import {
  type Account,
  accounts,
  formerNames,
  type Repository,
  repositories,
} from '../records/schema/index.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { canRead, canSee, type RepositoryPart, type Viewer } from './access.ts'
import { noreplyAddress } from './names.ts'

/** Accounts and repositories by name or id, with or without regard to what a viewer may see. */

/**
 * In place of what does not exist; nothing has the id 0. Invariant: a missing name is looked up by the same
 * reads as a hidden one, so that the time of the answer does not tell them apart.
 */
export const NO_ACCOUNT = { id: 0, visibility: 'private' } as const
export const NO_REPOSITORY = { id: 0, owner: 0, private: true } as const

/** Names are compared case-insensitively. */
export const accountByName = async (tx: ReadTransaction, name: string): Promise<Account | undefined> =>
  name.length > NAME_LIMIT
    ? undefined
    : ((await accounts.findBy(tx, 'name', [name.toLowerCase()])) ?? accounts.get(tx, [NO_ACCOUNT.id]))

export const accountByEmail = async (tx: ReadTransaction, email: string): Promise<Account | undefined> =>
  email.length > NAME_LIMIT ? undefined : accounts.findBy(tx, 'email', [email.toLowerCase()])

/** @throws AllotError not_found when it was deleted */
export const existingRepository = async (tx: ReadTransaction, id: number): Promise<Repository> =>
  existing(await repositoryById(tx, id), 'the repository was deleted')

/**
 * Checks in the write that the account still exists: it may have been deleted since the request began.
 * @throws AllotError not_found
 */
export const existingAccount = async (tx: ReadTransaction, id: number): Promise<Account> =>
  existing(await accounts.get(tx, [id]), 'the account was deleted')

/** What organizations do not have, since they do not sign in. */
type UserOnly = 'password' | 'tokens' | 'keys' | 'login'

/** @throws AllotError invalid for an organization */
export const requireUser = (account: Account, what: UserOnly): Account => {
  if (account.kind !== 'user') throw invalid(`an organization has no ${what}`)
  return account
}

/**
 * Like {@link existingAccount}, for what only users have.
 * @throws AllotError not_found; invalid for an organization
 */
export const existingUser = async (tx: ReadTransaction, id: number, what: UserOnly): Promise<Account> =>
  requireUser(await existingAccount(tx, id), what)

/**
 * What is found of an account, whose tokens and keys a job may remove after the account.
 * @returns undefined when the account does not exist
 */
export const ofExisting = async <T>(
  tx: ReadTransaction,
  id: number,
  finding: Promise<T>,
): Promise<T | undefined> => {
  const [account, found] = await Promise.all([accounts.get(tx, [id]), finding])
  return account && found
}

/** The account with the name, if the viewer can see it. */
export const visibleAccount = async (
  tx: ReadTransaction,
  viewer: Viewer,
  name: string,
): Promise<Account | undefined> => {
  return ifVisible(tx, viewer, await accountByName(tx, name))
}

/** The account, if there is one that the viewer can see. */
export const ifVisible = async (
  tx: ReadTransaction,
  viewer: Viewer,
  account: Account | undefined,
): Promise<Account | undefined> => ((await canSee(tx, viewer, account ?? NO_ACCOUNT)) ? account : undefined)

interface Addressed {
  readonly email: string
}

/**
 * The visible accounts with the addresses of authors and committers. The address of an account identifies it
 * for that account alone, and no-reply addresses identify it for all viewers: otherwise a commit would tell
 * other viewers whose address it has. {@link authorAmong} says which of them is the author.
 * @param baseUrl of the service, whose host name the no-reply addresses have
 */
export const accountsByAddress = async (
  tx: ReadTransaction,
  viewer: Viewer,
  commits: readonly { readonly author: Addressed; readonly committer: Addressed }[],
  baseUrl: string,
): Promise<Map<string, Account>> => {
  const host = new URL(baseUrl).hostname
  const own = viewer === null ? undefined : await accounts.get(tx, [viewer.id])
  const found = new Map<string, Account>()
  for (const email of new Set(commits.flatMap(({ author, committer }) => [author.email, committer.email]))) {
    const address = email.toLowerCase()
    const [login = ''] = address.split('@', 1)
    if (own !== undefined && address !== '' && own.email.toLowerCase() === address) found.set(email, own)
    else if (address === noreplyAddress(login, host)) {
      const account = await visibleAccount(tx, viewer, login)
      if (account !== undefined) found.set(email, account)
    }
  }
  return found
}

/**
 * The account of an author. A no-reply address names a login, so it stands for the account with that login
 * only in commits made since it has it: those before were made by another account.
 */
export const authorAmong = (
  people: ReadonlyMap<string, Account>,
  { email, time }: { readonly email: string; readonly time: number },
): Account | undefined => {
  const account = people.get(email)
  if (account === undefined || account.email.toLowerCase() === email.toLowerCase()) return account
  const { namedAt, createdAt } = account
  return (namedAt === undefined ? time >= createdAt : time > namedAt) ? account : undefined
}

/** The organization with the name, if the viewer can see it. */
export const visibleOrganization = async (
  tx: ReadTransaction,
  viewer: Viewer,
  name: string,
): Promise<Account | undefined> => {
  const account = await visibleAccount(tx, viewer, name)
  return account?.kind === 'organization' ? account : undefined
}

/** The account that had the name before, if no account has the name now. */
export const accountByFormerName = async (
  tx: ReadTransaction,
  name: string,
): Promise<Account | undefined> => {
  const former = await formerNames.get(tx, [name.toLowerCase()])
  const account = await accounts.get(tx, [former?.account ?? NO_ACCOUNT.id])
  return (await accountByName(tx, name)) === undefined ? account : undefined
}

/** The repository of an account with the name. */
export const repositoryOf = async (
  tx: ReadTransaction,
  owner: Pick<Account, 'id'>,
  name: string,
): Promise<Repository | undefined> =>
  name.length > NAME_LIMIT
    ? undefined
    : ((await repositories.findBy(tx, 'name', [owner.id, name.toLowerCase()])) ??
      repositories.get(tx, [NO_REPOSITORY.id]))

/** A repository is gone once its owner is deleted, although a job removes its record later. */
export const repositoryById = async (tx: ReadTransaction, id: number): Promise<Repository | undefined> => {
  const repository = await repositories.get(tx, [id])
  return (await accounts.get(tx, [repository?.owner ?? NO_ACCOUNT.id])) && repository
}

/** The repository with the name, if the viewer can read it. */
export const readableRepository = async (
  tx: ReadTransaction,
  viewer: Viewer,
  ownerName: string,
  name: string,
  part?: RepositoryPart,
): Promise<Repository | undefined> => {
  const owner = (await accountByName(tx, ownerName)) ?? NO_ACCOUNT
  const repository = await repositoryOf(tx, owner, name)
  const target = repository ?? { ...NO_REPOSITORY, owner: owner.id }
  return (await canRead(tx, viewer, target, part, owner)) ? repository : undefined
}

/**
 * The repository, if there is one that the viewer can read.
 * @param owner whose repository is missing
 */
export const ifReadable = async (
  tx: ReadTransaction,
  viewer: Viewer,
  repository: Repository | undefined,
  owner: Pick<Account, 'id'>,
  part?: RepositoryPart,
): Promise<Repository | undefined> => {
  const target = repository ?? { ...NO_REPOSITORY, owner: owner.id }
  return (await canRead(tx, viewer, target, part)) ? repository : undefined
}
