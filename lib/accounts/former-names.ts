/** Renames users and organizations. Former names redirect to the new ones, until another account takes the name. */
import { type Actor, recordAudit } from '../audit.ts'
import { now } from '../clock.ts'
import { invalid } from '../errors.ts'
import { type Account, accounts, formerNames } from '../records/schema/index.ts'
import type { WriteContext } from '../records/store.ts'
import type { ReadTransaction, WriteTransaction } from '../storage/index.ts'
import { accountByName, canSee, type Viewer } from './access.ts'
import { checkAccountName } from './names.ts'

/** Former names that an account can have; a further one replaces the oldest. */
const MAX_FORMER_NAMES = 50

/** The account that had the name before, if the viewer can see it and no account has the name now. */
export const accountByFormerName = async (
  tx: ReadTransaction,
  viewer: Viewer,
  name: string,
): Promise<Account | undefined> => {
  const former = await formerNames.get(tx, [name.toLowerCase()])
  const account = former && (await accounts.get(tx, [former.account]))
  if (account === undefined || (await accountByName(tx, name)) !== undefined) return undefined
  return (await canSee(tx, viewer, account)) ? account : undefined
}

/** @throws AllotError invalid for a malformed, reserved or taken name */
export const renameAccount = async (
  tx: WriteContext,
  id: number,
  name: string,
  by: Actor | undefined,
): Promise<Account | undefined> => {
  checkAccountName(name)
  const [account, other] = [await accounts.get(tx, [id]), await accountByName(tx, name)]
  if (other !== undefined && other.id !== id) throw invalid(`name: ${name} is already taken`)
  if (account === undefined || account.name === name) return account
  await addFormerName(tx, account)
  await takeAccountName(tx, name)
  const renamed = { ...account, name, updatedAt: now() }
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
export const takeAccountName = async (tx: WriteTransaction, name: string): Promise<void> => {
  await formerNames.remove(tx, [name.toLowerCase()])
}
