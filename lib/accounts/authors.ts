import { type Account, accounts } from '../records/schema/index.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { type Viewer, visibleAccount } from './access.ts'
import { noreplyAddress } from './names.ts'

/**
 * The visible accounts with the addresses of authors of commits. The address of an account identifies it for that account
 * alone, and no-reply addresses identify it for all viewers: otherwise a commit would tell other viewers whose address it has.
 * @param host host name of the no-reply addresses
 */
export const accountsByAddress = async (
  tx: ReadTransaction,
  viewer: Viewer,
  emails: Iterable<string>,
  host: string,
): Promise<Map<string, Account>> => {
  const found = new Map<string, Account>()
  for (const email of emails) {
    const account = await accountWith(tx, viewer, email, host)
    if (account !== undefined) found.set(email, account)
  }
  return found
}

const accountWith = async (
  tx: ReadTransaction,
  viewer: Viewer,
  email: string,
  host: string,
): Promise<Account | undefined> => {
  const address = email.toLowerCase()
  const own = viewer === null ? undefined : await accounts.get(tx, [viewer.id])
  if (own !== undefined && own.email !== '' && own.email.toLowerCase() === address) return own
  const [login = ''] = address.split('@', 1)
  return address === noreplyAddress(login, host) ? visibleAccount(tx, viewer, login) : undefined
}
