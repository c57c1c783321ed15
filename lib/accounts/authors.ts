import { type Account, accounts, emailAddresses } from '../records/schema/index.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { type Viewer, visibleAccount } from './access.ts'
import { noreplyAddress } from './names.ts'

/**
 * The visible accounts with the addresses of authors of commits. The addresses of an account, the first and further ones, identify
 * it for that account alone, and no-reply addresses identify it for all viewers: otherwise a commit would tell other viewers whose
 * address it has.
 * @param host host name of the no-reply addresses
 */
export const accountsByAddress = async (
  tx: ReadTransaction,
  viewer: Viewer,
  emails: Iterable<string>,
  host: string,
): Promise<Map<string, Account>> => {
  const own = await accountWithAddresses(tx, viewer)
  const found = new Map<string, Account>()
  for (const email of emails) {
    const address = email.toLowerCase()
    const [login = ''] = address.split('@', 1)
    if (own?.addresses.has(address)) found.set(email, own.account)
    else if (address === noreplyAddress(login, host)) {
      const account = await visibleAccount(tx, viewer, login)
      if (account !== undefined) found.set(email, account)
    }
  }
  return found
}

/** The viewer's account with all of its addresses in lower case, in a number of reads that does not depend on the commits. */
const accountWithAddresses = async (
  tx: ReadTransaction,
  viewer: Viewer,
): Promise<{ account: Account; addresses: ReadonlySet<string> } | undefined> => {
  const account = viewer === null ? undefined : await accounts.get(tx, [viewer.id])
  if (account === undefined) return undefined
  const further = await emailAddresses.list(tx, 'account', { prefix: [account.id] })
  const all = [account, ...further].map(({ email }) => email.toLowerCase())
  return { account, addresses: new Set(all.filter((address) => address !== '')) }
}
