/** Redirects from former names of users and organizations, until another account takes the name. */
import { now } from '../clock.ts'
import { type Account, accounts, formerNames } from '../records/schema/index.ts'
import type { WriteContext } from '../records/store.ts'
import type { ReadTransaction, WriteTransaction } from '../storage/index.ts'
import { accountByName, canSee, type Viewer } from './access.ts'

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

/** Adds a redirect from the present name of an account that gets another one. */
export const addFormerName = async (tx: WriteContext, { id, name }: Account): Promise<void> => {
  const known = await formerNames.list(tx, 'account', { prefix: [id] })
  if (known.length >= MAX_FORMER_NAMES) await formerNames.remove(tx, [known[0]!.name])
  await formerNames.save(tx, { name: name.toLowerCase(), account: id, createdAt: now() })
}

/** Removes the redirect of a name that an account takes. */
export const takeAccountName = async (tx: WriteTransaction, name: string): Promise<void> => {
  await formerNames.remove(tx, [name.toLowerCase()])
}
