import { now } from '../clock.ts'
import { invalid } from '../errors.ts'
import type { Jobs } from '../records/jobs.ts'
import { type Account, accounts, repositories, type Visibility } from '../records/schema/index.ts'
import { cachedRead, type Store, type WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { accountByEmail, accountByName, type Target, type Viewer, visibleAccount } from './access.ts'
import { HOST, hashPassword } from './login.ts'
import { checkAccountName, checkEmail, checkTexts } from './names.ts'
import { updateAccountVisibility } from './visibility.ts'

export interface AccountEdit {
  email?: string | undefined
  fullName?: string | undefined
  password?: string | undefined
  website?: string | undefined
  description?: string | undefined
  location?: string | undefined
  admin?: boolean | undefined
  active?: boolean | undefined
  visibility?: Visibility | undefined
}

export interface NewAccount extends AccountEdit {
  name: string
}

export interface RemovalOptions {
  /** Also deletes the account's repositories and packages, and organizations that have no other owner. */
  purge?: boolean
}

export interface Accounts {
  /**
   * @param client client whose budget hashing the password counts against
   * @throws AllotError invalid for a malformed, reserved or taken name or email; unavailable when too many passwords are
   * being hashed
   */
  createUser(account: NewAccount, client?: string): Promise<Account>
  byId(id: number): Promise<Account | undefined>
  /** The accounts that exist, in the order of the ids. */
  byIds(ids: readonly number[]): Promise<Account[]>
  byName(name: string): Promise<Account | undefined>
  /** The account with the name, if the viewer can see it. */
  find(viewer: Viewer, name: string): Promise<Account | undefined>
  edit(id: number, edit: AccountEdit, client?: string): Promise<Account | undefined>
  count(kind: Account['kind']): Promise<number>
  list(
    kind: Account['kind'],
    at: { offset: number; limit: number },
  ): Promise<{ items: Account[]; total: number }>
  /**
   * Deletes a user or an organization with everything that belongs to it alone. The account disappears at once; jobs delete
   * its other records in steps. With `purge`, each organization that only this user owns is deleted first, in its own
   * transaction.
   * @returns whether the account existed
   * @throws AllotError invalid when the account still owns repositories or packages, or is the only owner of an
   * organization that it founded, and `purge` is not set
   */
  remove(which: Target<Account>, options?: RemovalOptions): Promise<boolean>
}

const readVisibleAccount = cachedRead('account', (tx, { viewer, name }: { viewer: Viewer; name: string }) =>
  visibleAccount(tx, viewer, name),
)

/**
 * All but the removal, which is above the contents of accounts (lib/content/removal.ts).
 * @param onChange called after the commit with each account whose identity may have changed
 */
export const createAccounts = (
  store: Store,
  jobs: Jobs,
  onChange: (account: Account) => void,
): Omit<Accounts, 'remove'> => ({
  ...accountQueries(store),
  ...accountChanges(store, jobs, onChange),
})

const accountQueries = (
  store: Store,
): Pick<Accounts, 'byId' | 'byIds' | 'byName' | 'find' | 'count' | 'list'> => ({
  byId: (id) => store.read((tx) => accounts.get(tx, [id])),
  byIds: (ids) =>
    store.read(async (tx) => {
      const found = await accounts.getMany(
        tx,
        ids.map((id) => [id]),
      )
      return found.filter((account) => account !== undefined)
    }),
  byName: (name) => store.read((tx) => accountByName(tx, name)),
  find: (viewer, name) => readVisibleAccount(store, { viewer, name: name.toLowerCase() }),
  count: (kind) => store.read((tx) => accounts.count(tx, 'kind', [kind])),
  list: (kind, at) =>
    store.read(async (tx) => ({
      items: await accounts.list(tx, 'name', { prefix: [kind], ...at }),
      total: await accounts.count(tx, 'kind', [kind]),
    })),
})

const accountChanges = (
  store: Store,
  jobs: Jobs,
  onChange: (account: Account) => void,
): Pick<Accounts, 'createUser' | 'edit'> => ({
  async createUser(account, client = HOST) {
    const blank = { ...blankAccount('user', account.name), email: account.email ?? '' }
    // Checked before the derivation as well, so that many requests for a taken name stay cheap.
    const check = () => store.read((tx) => refuseTaken(tx, { ...blank, id: 0 }))
    const hash = async (password: string) => {
      await check()
      return hashPassword(checkPassword(password), client, check)
    }
    const password = account.password === undefined ? null : await hash(account.password)
    const record: Account = { ...blank, id: await store.sequences.next('account'), password }
    return store.write((tx) =>
      insertAccount(tx, {
        ...record,
        fullName: account.fullName ?? '',
        website: account.website ?? '',
        description: account.description ?? '',
        location: account.location ?? '',
        admin: account.admin ?? false,
        active: account.active ?? true,
        visibility: account.visibility ?? 'public',
      }),
    )
  },
  async edit(id, { password, ...edit }, client = HOST) {
    const hashed =
      password === undefined ? {} : { password: await hashPassword(checkPassword(password), client) }
    return store.write(async (tx) => {
      const before = await accounts.get(tx, [id])
      if (before === undefined) return undefined
      const after: Account = { ...before, ...definedMembers(edit), ...hashed, updatedAt: now() }
      checkTexts('account', edit)
      if (after.email !== before.email) await refuseTakenEmail(tx, after)
      await accounts.save(tx, after)
      if (after.visibility !== before.visibility) await updateAccountVisibility(tx, jobs, after)
      tx.afterCommit(() => onChange(after))
      return after
    })
  },
})

/** Ids of all users and organizations, in ascending order. */
export async function* accountIds(tx: ReadTransaction): AsyncGenerator<number> {
  for await (const { id } of accounts.all(tx)) yield id
}

/** Saves a new account. Users and organizations share one namespace. */
export const insertAccount = async (tx: WriteContext, account: Account): Promise<Account> => {
  await refuseTaken(tx, account)
  await accounts.save(tx, account)
  return account
}

const refuseTaken = async (tx: ReadTransaction, account: Account): Promise<void> => {
  checkAccountName(account.name)
  checkTexts('account', account)
  if ((await accountByName(tx, account.name)) !== undefined)
    throw invalid(`name: ${account.name} is already taken`)
  await refuseTakenEmail(tx, account)
}

export const blankAccount = (kind: Account['kind'], name: string): Omit<Account, 'id'> => ({
  kind,
  name,
  fullName: '',
  email: '',
  website: '',
  description: '',
  location: '',
  visibility: 'public',
  admin: false,
  active: true,
  password: null,
  createdAt: now(),
  updatedAt: now(),
})

export const ownsRepositories = async (tx: ReadTransaction, owner: number): Promise<boolean> => {
  const counts = await Promise.all(
    ([0, 1, 2] as const).map((audience) => repositories.count(tx, 'owner', [owner, audience])),
  )
  return counts.some((count) => count > 0)
}

const refuseTakenEmail = async (tx: ReadTransaction, account: Account) => {
  checkEmail(account.email)
  if (account.email === '' || account.kind !== 'user') return
  const holder = await accountByEmail(tx, account.email)
  if (holder !== undefined && holder.id !== account.id)
    throw invalid('email: it is already used by another account')
}

const checkPassword = (password: string): string => {
  if (password.length < 8) throw invalid('password: must have at least 8 characters')
  return password
}

/** An edit without its undefined members, which leave the record as it is. */
export const definedMembers = <T extends object>(edit: T): { [K in keyof T]: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(edit).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>
  }
