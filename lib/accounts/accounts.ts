import { type Actor, recordAudit } from '../audit.ts'
import { now } from '../clock.ts'
import { checkArgument, invalid, isObject } from '../errors.ts'
import type { OwnerDirectory } from '../quota/owners.ts'
import { definedMembers, pick } from '../records/edits.ts'
import type { Jobs } from '../records/jobs.ts'
import type { Page, Slice } from '../records/pages.ts'
import {
  type Account,
  accounts,
  emailAddresses,
  type Preferences,
  type Visibility,
} from '../records/schema/index.ts'
import { cachedRead, type Store, type WriteContext } from '../records/store.ts'
import { checkTexts } from '../records/text-limits.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { accountByName, holderOfEmail, type Viewer, visibleAccount } from './access.ts'
import { accountAt, type Target } from './authorize.ts'
import { accountByFormerName, renameAccount, takeAccountName } from './former-names.ts'
import { checkPassword, hashPassword } from './login.ts'
import { checkAccountName, checkEmail } from './names.ts'
import { updateAccountVisibility } from './visibility.ts'

/** Changes of an account; absent members stay as they are. */
export interface AccountEdit {
  /** Address of a user. */
  email?: string | undefined
  /** Name to show. */
  fullName?: string | undefined
  /** The new password, of 8 to 255 characters; only its hash is stored. */
  password?: string | undefined
  /** URL. */
  website?: string | undefined
  /** Free text of the account about itself. */
  description?: string | undefined
  /** Place to show. */
  location?: string | undefined
  /** Whether the user administrates the server. */
  admin?: boolean | undefined
  /** Whether the user can sign in. */
  active?: boolean | undefined
  /** Who can see the account: everyone (`public`), signed-in users (`limited`), or itself, members and administrators (`private`). */
  visibility?: Visibility | undefined
  /** Settings that clients keep for the user. */
  preferences?: Preferences | undefined
}

/** A user to create. */
export interface NewAccount extends AccountEdit {
  /** Login name, unique without regard to case among users and organizations. */
  name: string
}

const readVisibleAccount = cachedRead('account', (tx, { viewer, name }: { viewer: Viewer; name: string }) =>
  visibleAccount(tx, viewer, name),
)

/** How an account is created or changed. */
export interface ChangeOptions {
  /** Who does it, for the audit log; absent: the host. */
  by?: Actor | undefined
  /** Client whose budget hashing a password counts against; absent: the host. */
  client?: string | undefined
}

/** How an account is deleted. */
export interface RemovalOptions extends Pick<ChangeOptions, 'by'> {
  /** Whether to delete the account's repositories and packages too, and organizations that have no other owner. */
  purge?: boolean
}

/** Removes what an account owns. `lib/content/removal.ts`, which knows it, implements this. */
export interface Removal {
  remove(which: Target<Account>, options?: RemovalOptions): Promise<boolean>
}

/** Users and organizations. */
export class Accounts {
  readonly #store: Store
  readonly #jobs: Jobs
  readonly #removal: Removal

  constructor(store: Store, jobs: Jobs, removal: Removal) {
    this.#store = store
    this.#jobs = jobs
    this.#removal = removal
  }

  /**
   * Creates a user.
   * @throws AllotError invalid for a malformed, reserved or taken name or email; unavailable when too many passwords are
   * being hashed
   */
  async createUser(user: NewAccount, options: ChangeOptions = {}): Promise<Account> {
    checkArgument(isObject(user), 'user', "an object, such as { name: 'alice' }", user)
    const { name, password } = user
    const record: Account = { ...blankAccount('user', name), ...definedMembers(pick(user, EDITS)), id: 0 }
    // Checked before the derivation as well, so that many requests for a taken name stay cheap.
    const check = () => this.#store.read((tx) => refuseTaken(tx, record))
    if (password !== undefined) {
      await check()
      record.password = await hashPassword(checkPassword(password), options.client, check)
    }
    record.id = await this.#store.sequences.next('account')
    return this.#store.write((tx) => insertUser(tx, record, options.by))
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

  /** The account with the name, if the viewer can see it. */
  find(viewer: Viewer, name: string): Promise<Account | undefined> {
    return readVisibleAccount(this.#store, { viewer, name: name.toLowerCase() })
  }

  /**
   * Changes an account.
   * @param change the edit, or a function that returns it for the account as the write finds it; such an edit cannot set a password
   * @returns undefined when there is no such account
   * @throws AllotError invalid for a malformed or taken email, a text that is too long and a password that is too short or too long;
   * unavailable when too many passwords are being hashed
   */
  async edit(
    which: Target<Account>,
    change: AccountEdit | ((before: Account) => Omit<AccountEdit, 'password'>),
    options: ChangeOptions = {},
  ): Promise<Account | undefined> {
    const password = typeof change === 'function' ? undefined : change.password
    const hashed =
      password === undefined ? {} : { password: await hashPassword(checkPassword(password), options.client) }
    return this.#store.write(async (tx) => {
      const before = await accountAt(tx, which)
      if (before === undefined) return undefined
      const edit = pick(typeof change === 'function' ? change(before) : change, EDITS)
      const after: Account = { ...before, ...definedMembers(edit), ...hashed, updatedAt: now() }
      // A link that sets a password must not replace this one.
      if (password !== undefined) delete after.passwordLink
      checkTexts('account', edit)
      if (after.email !== before.email) {
        await refuseTakenEmail(tx, after)
        // A further address that becomes the first one is stored once. The address of an organization can be a user's, too.
        if (after.kind === 'user') await emailAddresses.remove(tx, [after.email.toLowerCase()])
      }
      await accounts.save(tx, after)
      await recordEdit(tx, options.by, before, after)
      if (after.visibility !== before.visibility) await updateAccountVisibility(tx, this.#jobs, after)
      return after
    })
  }

  /**
   * Renames a user or an organization. Its former name redirects to the new one. Nothing else changes, since records name
   * accounts by id.
   * @returns undefined when there is no such account
   * @throws AllotError invalid for a malformed, reserved or taken name
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
   * Deletes a user or an organization with everything that belongs to it alone. The account disappears at once; jobs delete
   * its other records in steps. With `purge`, each organization that only this user owns is deleted first, in its own
   * transaction.
   * @returns whether the account existed
   * @throws AllotError invalid when the account still owns repositories or packages, or is the only owner of an
   * organization that it founded, and `purge` is not set
   */
  remove(which: Target<Account>, options?: RemovalOptions): Promise<boolean> {
    return this.#removal.remove(which, options)
  }

  /** Present name of the account with the former name; undefined unless the viewer can see it. */
  findMoved(viewer: Viewer, name: string): Promise<string | undefined> {
    return this.#store.read(async (tx) => (await accountByFormerName(tx, viewer, name))?.name)
  }

  /** The accounts of a kind, by name. */
  list(kind: Account['kind'], slice: Slice): Promise<Page<Account>> {
    return this.#store.read((tx) => accounts.page(tx, 'name', { prefix: [kind], ...slice }, 'kind'))
  }
}

/** Saves a new user, and logs it. @throws AllotError invalid for a malformed, reserved or taken name or email */
export const insertUser = async (
  tx: WriteContext,
  user: Account,
  by: Actor | undefined,
): Promise<Account> => {
  await recordAudit(tx, by, { action: 'account created', subject: user.name, after: audited(user) })
  return insertAccount(tx, user)
}

const AUDITED_EDITS = ['fullName', 'email', 'description', 'visibility', 'admin', 'active'] as const
/**
 * The members that are saved as the caller gives them; the compiler asks for each of an edit. For the compiler, a {@link NewAccount}
 * is an edit, too: its name must not be saved, since only `rename` checks it.
 */
const SAVED: Readonly<Record<Exclude<keyof AccountEdit, 'password'>, true>> = {
  ...{ fullName: true, email: true, description: true, visibility: true, admin: true, active: true },
  ...{ website: true, location: true, preferences: true },
}
const EDITS = Object.keys(SAVED) as (keyof typeof SAVED)[]
const audited = (account: Account) => pick(account, ['kind', ...AUDITED_EDITS])

const recordEdit = async (
  tx: WriteContext,
  by: Actor | undefined,
  before: Account,
  after: Account,
): Promise<void> => {
  const subject = after.name
  if (after.password !== before.password) await recordAudit(tx, by, { action: 'password changed', subject })
  const [old, edited] = [audited(before), audited(after)]
  const changed = (Object.keys(old) as (keyof typeof old)[]).filter((name) => edited[name] !== old[name])
  if (changed.length === 0) return
  const valuesIn = (values: typeof old): Partial<typeof old> =>
    Object.fromEntries(changed.map((name) => [name, values[name]]))
  const change = { before: valuesIn(old), after: valuesIn(edited) }
  await recordAudit(tx, by, { action: 'account changed', subject, ...change })
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

/** Saves a new account. Users and organizations share one namespace. */
export const insertAccount = async (tx: WriteContext, account: Account): Promise<Account> => {
  await refuseTaken(tx, account)
  await takeAccountName(tx, account.name)
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

const refuseTakenEmail = async (tx: ReadTransaction, account: Account) => {
  checkEmail(account.email)
  if (account.email === '' || account.kind !== 'user') return
  const holder = await holderOfEmail(tx, account.email)
  if (holder !== undefined && holder !== account.id)
    throw invalid('email: it is already used by another account')
}
