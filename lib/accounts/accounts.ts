import type { Actor } from '../audit.ts'
import { checkArgument, invalidMember, isObject } from '../errors.ts'
import type { OwnerDirectory } from '../quota/owners.ts'
import { type EditOf, savedMembers, withEdit } from '../records/edits.ts'
import type { Page, Slice } from '../records/pages.ts'
import { type Account, accounts } from '../records/schema/index.ts'
import { type Store, takeNumber } from '../records/store.ts'
import { checkTexts } from '../records/text-limits.ts'
import type { Viewer } from './access.ts'
import {
  blankAccount,
  giveAll,
  insertUser,
  recordEdit,
  refuseLastAdministrator,
  refuseTaken,
  refuseTakenEmail,
  renameAccount,
} from './account-records.ts'
import { accountAt, type Target } from './authorize.ts'
import { accountByFormerName, accountByName, ifVisible, requireUser, visibleAccount } from './find.ts'
import { accountByHostId, linkToHost } from './host-users.ts'
import { checkPassword, hashPassword } from './login.ts'
import { checkAccountName, checkEmail } from './names.ts'
import { type ForkServices, restrictForksFor } from './visibility.ts'

/** What an edit may change, besides the password; not the name, since only `rename` checks it. */
const EDITED = [
  'fullName',
  'email',
  'description',
  'visibility',
  'admin',
  'active',
  'website',
  'location',
  'preferences',
] as const

/** Changes of an account; absent members stay as they are. */
export interface AccountEdit extends EditOf<Account, (typeof EDITED)[number]> {
  /** The new password, of 8 to 255 characters; only its hash is stored. */
  password?: string | undefined
}

/** A user to create. */
export interface NewAccount extends AccountEdit {
  /** Login name, unique without regard to case among users and organizations. */
  name: string
}

/** How an account is created or changed. */
interface ChangeOptions {
  /** Who does it, for the audit log; absent: the host. */
  by?: Actor | undefined
  /** Client whose budget hashing a password counts against; absent: the host. */
  client?: string | undefined
}

/** How an account is deleted. */
export interface RemovalOptions extends Pick<ChangeOptions, 'by'> {
  /** Whether to delete its repositories and packages, too, and organizations without another owner. */
  purge?: boolean
}

/** Removes what an account owns. `lib/content/removal.ts`, which knows it, implements this. */
export interface Removal {
  remove(which: Target<Account>, options?: RemovalOptions): Promise<boolean>
}

/**
 * Checks a new user as far as that needs no store.
 * @throws AllotError invalid for a malformed or reserved name, a malformed email, and a password that is too
 * short or too long
 */
export const checkNewUser = ({ name, email = '', password }: NewAccount): void => {
  checkAccountName(name)
  checkEmail(email)
  if (password !== undefined) checkPassword(password)
}

/** Users and organizations. */
export class Accounts {
  readonly #store: Store
  readonly #forks: ForkServices
  readonly #removal: Removal

  constructor(store: Store, forks: ForkServices, removal: Removal) {
    this.#store = store
    this.#forks = forks
    this.#removal = removal
  }

  /**
   * Creates a user.
   * @throws AllotError invalid for a malformed or reserved name or email; conflict for a taken one;
   * unavailable when too many passwords are being hashed; forbidden as {@link giveAll} says
   */
  async createUser(user: NewAccount, options: ChangeOptions = {}): Promise<Account> {
    checkArgument(isObject(user), 'user', "an object, such as { name: 'alice' }", user)
    const { name, password, admin } = user
    if (admin === true) giveAll(options.by, 'an administrator')
    const record: Account = { ...blankAccount('user', name), ...savedMembers(user, EDITED), id: 0 }
    // Checked before the derivation as well, so that many requests for a taken name stay cheap.
    const check = () => this.#store.read((tx) => refuseTaken(tx, record))
    if (password !== undefined) {
      await check()
      record.password = await hashGiven(password, options, check)
    }
    return this.#store.write(async (tx) =>
      insertUser(tx, { ...record, id: await takeNumber(tx, 'account') }, options.by),
    )
  }

  /** The account with the id; undefined when there is none. */
  byId(id: number): Promise<Account | undefined> {
    return this.#store.read((tx) => accounts.get(tx, [id]))
  }

  /** The accounts that exist, in the order of the ids. */
  async byIds(ids: readonly number[]): Promise<Account[]> {
    return [...(await this.#store.read((tx) => accounts.byIds(tx, ids))).values()]
  }

  /** The account with the name, without regard to case; undefined when there is none. */
  byName(name: string): Promise<Account | undefined> {
    return this.#store.read((tx) => accountByName(tx, name))
  }

  /** The account of the host's user whose identity has the id; undefined when there is none. */
  byHostId(id: string): Promise<Account | undefined> {
    return this.#store.read((tx) => accountByHostId(tx, id))
  }

  /**
   * Gives an account that exists to a user of the host, who signs in to it from then on. The next request
   * gives it the user's name.
   * @param hostId the `id` that `authenticate` returns; null takes the account from its user
   * @throws AllotError invalid for a malformed id, and for an organization; conflict when the user has
   * another account; not_found when the account does not exist
   */
  link(account: number, hostId: string | null): Promise<Account> {
    return this.#store.write((tx) => linkToHost(tx, account, hostId))
  }

  /** The account with the name, if the viewer can see it. */
  find(viewer: Viewer, name: string): Promise<Account | undefined> {
    return this.#store.read((tx) => visibleAccount(tx, viewer, name))
  }

  /**
   * Changes an account.
   * @param change the edit, or a function that returns it for the account as the write finds it; such an edit
   * cannot set a password
   * @returns undefined when there is no such account
   * @throws AllotError conflict for a taken email, and as {@link restrictForksFor} says; invalid for a
   * malformed one, a text that is too long and a password that is too short or too long, a password, the
   * rights of an administrator and `active: false` of an organization, and a user who takes the right or the
   * account of the last active administrator;
   * unavailable when too many passwords are being hashed; forbidden as {@link giveAll} says
   */
  async edit(
    which: Target<Account>,
    change: AccountEdit | ((before: Account) => Omit<AccountEdit, 'password'>),
    options: ChangeOptions = {},
  ): Promise<Account | undefined> {
    const password = typeof change === 'function' ? undefined : change.password
    const hashed = password === undefined ? {} : { password: await hashGiven(password, options) }
    return this.#store.write(async (tx) => {
      const before = await accountAt(tx, which)
      if (before === undefined) return undefined
      const edit = savedMembers(typeof change === 'function' ? change(before) : change, EDITED)
      const after = withEdit(before, { ...edit, ...hashed })
      // A link that sets a password must not replace this one.
      if (password !== undefined) delete after.passwordLink
      checkTexts('account', edit)
      checkRights(options.by, before, { ...edit, password })
      if (after === before) return before
      await refuseLastAdministrator(tx, options.by, before, after)
      if (after.email !== before.email) await refuseTakenEmail(tx, after)
      await accounts.save(tx, after)
      await recordEdit(tx, options.by, before, after)
      if (after.visibility !== before.visibility) await restrictForksFor(tx, this.#forks, after)
      return after
    })
  }

  /**
   * Renames a user or an organization. Its former name redirects to the new one, unless only the case of
   * letters changes; of more than 50 former names, the oldest one ends. Other records and the disk stay as
   * they are, since they name accounts by id. No route does this: a host or a migration calls it.
   * @returns undefined when there is no such account
   * @throws AllotError invalid for a malformed or reserved name; conflict for a taken one
   */
  rename(id: number, name: string, options: Pick<ChangeOptions, 'by'> = {}): Promise<Account | undefined> {
    return this.#store.write((tx) => renameAccount(tx, id, name, options.by))
  }

  /** Sets when the account was created, for copies, which keep the date of their originals. */
  setCreatedAt(id: number, createdAt: number): Promise<void> {
    return this.#store.write(async (tx) => {
      const before = await accounts.get(tx, [id])
      if (before !== undefined && before.createdAt !== createdAt)
        await accounts.save(tx, { ...before, createdAt })
    })
  }

  /** Number of users or of organizations. */
  count(kind: Account['kind']): Promise<number> {
    return this.#store.read((tx) => accounts.count(tx, 'kind', [kind]))
  }

  /**
   * Deletes a user or an organization with everything that belongs to it alone. The account disappears at
   * once; jobs delete its other records in steps. With `purge`, each organization that only this user owns is
   * deleted first, in its own transaction.
   * @returns whether the account existed
   * @throws AllotError invalid when the account still owns repositories or packages, or is the only owner of
   * an organization that it founded, and `purge` is not set; when a user deletes the last active
   * administrator
   */
  remove(which: Target<Account>, options?: RemovalOptions): Promise<boolean> {
    return this.#removal.remove(which, options)
  }

  /** Present name of the account with the former name; undefined unless the viewer can see it. */
  presentName(viewer: Viewer, name: string): Promise<string | undefined> {
    return this.#store.read(async (tx) => {
      const account = await ifVisible(tx, viewer, await accountByFormerName(tx, name))
      return account?.name
    })
  }

  /** The accounts of a kind, by name. */
  list(kind: Account['kind'], slice: Slice): Promise<Page<Account>> {
    return this.#store.read((tx) => accounts.page(tx, 'name', { prefix: [kind], ...slice }, 'kind'))
  }
}

const hashGiven = (password: string, { by, client }: ChangeOptions, check?: () => Promise<unknown>) => {
  giveAll(by, 'a password')
  return hashPassword(checkPassword(password), { client, check, isAdministrative: true })
}

/** Refuses what `by` may not give, and what is about signing in, which organizations do not do. */
const checkRights = (by: Actor | undefined, before: Account, edit: AccountEdit): void => {
  if (edit.admin === true && !before.admin) giveAll(by, 'an administrator')
  if (before.kind === 'user') return
  if (edit.password !== undefined) requireUser(before, 'password')
  // Whatever the address is: another answer would tell whether a user has it.
  if (edit.email !== undefined && edit.email !== '')
    throw invalidMember('email', 'an organization has no email address')
  if (edit.admin === true) throw invalidMember('admin', 'an organization cannot be an administrator')
  if (edit.active === false)
    throw invalidMember('active', 'an organization does not sign in, so that cannot be turned off')
}

/** Users and organizations as owners of what counts toward quota. */
export const accountOwners: OwnerDirectory = {
  title: 'user or organization',
  find: accountByName,
  claim: accountByName,
  byIds: (tx, ids) => accounts.byIds(tx, ids),
  async *ids(tx) {
    for await (const { id } of accounts.all(tx)) yield id
  },
}
