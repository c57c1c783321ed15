/**
 * How accounts are saved: what a new one has, which names and emails are free, what the audit log has of
 * them, and how they are renamed. Former names redirect to the new ones, until another account takes the
 * name.
 */
import { type Actor, recordAudit } from '../audit.ts'
import { now } from '../clock.ts'
import { invalid, takenMember } from '../errors.ts'
import { creationTimes, pick } from '../records/edits.ts'
import { type Account, accounts, formerNames } from '../records/schema/index.ts'
import type { WriteContext } from '../records/store.ts'
import { checkTexts } from '../records/text-limits.ts'
import { requireScopesToGive } from '../scopes.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { OPERATOR } from './access.ts'
import { accountByEmail, accountByName } from './find.ts'
import { checkAccountName, checkEmail } from './names.ts'

/**
 * Saves a new user, and logs it.
 * @throws AllotError invalid for a malformed or reserved name or email, conflict for a taken one
 */
export const insertUser = async (
  tx: WriteContext,
  user: Account,
  by: Actor | undefined,
): Promise<Account> => {
  await recordAudit(tx, by, { action: 'account created', subject: user.name, after: audited(user) })
  return insertAccount(tx, user)
}

/** Saves a new account. Users and organizations share one namespace. */
export const insertAccount = async (tx: WriteContext, account: Account): Promise<Account> => {
  await refuseTaken(tx, account)
  await takeAccountName(tx, account.name)
  await accounts.save(tx, account)
  return account
}

/**
 * Checks a new account before it is saved.
 * @throws AllotError invalid for a malformed or reserved name or email, conflict for a taken one
 */
export const refuseTaken = async (tx: ReadTransaction, account: Account): Promise<void> => {
  checkAccountName(account.name)
  checkTexts('account', account)
  if ((await accountByName(tx, account.name)) !== undefined)
    throw takenMember('name', `${account.name} is already taken`)
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
  ...creationTimes(),
})

/** Stands for a user who was deleted or whom the viewer may not see, under the name that Forgejo uses. */
export const ghost: Account = { ...blankAccount('user', 'Ghost'), id: -1, createdAt: 0, updatedAt: 0 }

/** @throws AllotError invalid for a malformed email, conflict for one that another user has */
export const refuseTakenEmail = async (tx: ReadTransaction, account: Account) => {
  checkEmail(account.email)
  if (account.email === '' || account.kind !== 'user') return
  const holder = await accountByEmail(tx, account.email)
  if (holder !== undefined && holder.id !== account.id)
    throw takenMember('email', 'it is already used by another account')
}

/** The administrator with the lowest id, which is usually the first account, among those that match. */
export const administratorIn = async (
  tx: ReadTransaction,
  matches: (account: Account) => boolean = () => true,
): Promise<Account | undefined> => {
  for await (const account of accounts.all(tx))
    if (account.admin && account.kind === 'user' && matches(account)) return account
  return undefined
}

/**
 * A password and the right of an administrator allow everything, so only credentials that do may give them.
 * @param by undefined: the host
 * @throws AllotError forbidden
 */
export const giveAll = (by: Actor | undefined, what: string): void =>
  requireScopesToGive(by ?? {}, what, ['all'])

/**
 * Keeps a store from losing its last active administrator over the API and the pages. The host and the
 * command line may take that right, since they can give it again.
 * @param after the account after the change; undefined when it is deleted
 * @throws AllotError invalid
 */
export const refuseLastAdministrator = async (
  tx: ReadTransaction,
  by: Actor | undefined,
  before: Account,
  after?: Account,
): Promise<void> => {
  if (by === undefined || by.id === OPERATOR.id) return
  if (!before.admin || !before.active || (after?.admin && after.active)) return
  if ((await administratorIn(tx, ({ id, active }) => active && id !== before.id)) === undefined)
    throw invalid(`${before.name} is the last active administrator: make another user an administrator first`)
}

const AUDITED_EDITS = ['fullName', 'email', 'description', 'visibility', 'admin', 'active'] as const
const audited = (account: Account) => pick(account, ['kind', ...AUDITED_EDITS])

/** Logs what an edit has changed. */
export const recordEdit = async (
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

/** Former names that an account can have; a further one replaces the oldest. */
const MAX_FORMER_NAMES = 50

/** @throws AllotError invalid for a malformed or reserved name, conflict for a taken one */
export const renameAccount = async (
  tx: WriteContext,
  id: number,
  name: string,
  by: Actor | undefined,
): Promise<Account | undefined> => {
  checkAccountName(name)
  const [account, other] = [await accounts.get(tx, [id]), await accountByName(tx, name)]
  if (other !== undefined && other.id !== id) throw takenMember('name', `${name} is already taken`)
  if (account === undefined || account.name === name) return account
  // `other` is the account itself when only the case changes, and then the name is not a former one.
  if (other === undefined) await addFormerName(tx, account)
  await takeAccountName(tx, name)
  const renamed = { ...account, name, updatedAt: now(), ...(other === undefined && { namedAt: now() }) }
  await accounts.save(tx, renamed)
  const [before, after] = [{ name: account.name }, { name }]
  await recordAudit(tx, by, { action: 'account changed', subject: name, before, after })
  return renamed
}

/** Adds a redirect from the present name of an account that gets another one. */
const addFormerName = async (tx: WriteContext, { id, name }: Account): Promise<void> => {
  const known = await formerNames.list(tx, 'account', { prefix: [id] })
  if (known.length >= MAX_FORMER_NAMES) await formerNames.remove(tx, [known[0]!.name])
  await formerNames.save(tx, { name: name.toLowerCase(), account: id, createdAt: now() })
}

/** Removes the redirect of a name that an account takes. */
const takeAccountName = async (tx: WriteContext, name: string): Promise<void> => {
  await formerNames.remove(tx, [name.toLowerCase()])
}
