import { now } from '../clock.ts'
import { AllotError, invalidMember } from '../errors.ts'
import { type Account, accounts, type EmailAddress, emailAddresses } from '../records/schema/index.ts'
import type { Store } from '../records/store.ts'
import { checkTexts } from '../records/text-limits.ts'
import type { ReadTransaction } from '../storage/index.ts'
import type { Viewer } from './access.ts'
import { existingUser, holderOfEmail, visibleAccount } from './find.ts'
import { isEmail, noreplyAddress } from './names.ts'

/** Further addresses that a user can have. */
const MAX_ADDRESSES = 50

/** An address of a user. Users add further ones themselves, and nothing is sent to them. */
interface UserEmail {
  readonly email: string
  readonly isPrimary: boolean
}

/** The email addresses of users: the one of the account first, then further ones, oldest first. */
export class EmailAddresses {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  list(account: number): Promise<UserEmail[]> {
    return this.#store.read((tx) => emailsOf(tx, account))
  }

  /**
   * Adds all of the addresses, or none.
   * @throws AllotError invalid for a malformed or taken address, and for an organization; conflict for too
   * many, not_found when the account was deleted
   */
  add(account: number, emails: readonly string[]): Promise<UserEmail[]> {
    return this.#store.write(async (tx) => {
      await existingUser(tx, account, 'further email addresses')
      const distinct = [...new Map(emails.map((email) => [email.toLowerCase(), email])).values()]
      const createdAt = now()
      if ((await emailAddresses.count(tx, 'account', [account])) + distinct.length > MAX_ADDRESSES)
        throw new AllotError(
          'conflict',
          `a user can have ${MAX_ADDRESSES} further addresses: delete some first`,
        )
      for (const email of distinct) {
        await refuseEmail(tx, email)
        await emailAddresses.save(tx, { email, account, createdAt })
      }
      return emailsOf(tx, account)
    })
  }

  /**
   * Removes all of the addresses, or none.
   * @returns whether the user has all of them as further addresses
   */
  remove(account: number, emails: readonly string[]): Promise<boolean> {
    return this.#store.write(async (tx) => {
      const distinct = [...new Set(emails.map((email) => email.toLowerCase()))]
      const first = (await accounts.get(tx, [account]))?.email.toLowerCase()
      if (first !== undefined && first !== '' && distinct.includes(first))
        throw invalidMember('emails', 'the first address of the account cannot be deleted: change it instead')
      const keys = distinct.filter((email) => email.length <= 254).map((email) => [email])
      const found = await emailAddresses.getMany(tx, keys)
      const own = found.filter((address): address is EmailAddress => address?.account === account)
      if (own.length < distinct.length) return false
      for (const { email } of own) await emailAddresses.remove(tx, [email.toLowerCase()])
      return true
    })
  }
}

const emailsOf = async (tx: ReadTransaction, account: number): Promise<UserEmail[]> => {
  const first = (await accounts.get(tx, [account]))?.email ?? ''
  const further = await emailAddresses.list(tx, 'account', { prefix: [account] })
  return [
    ...(first === '' ? [] : [{ email: first, isPrimary: true }]),
    ...further.map(({ email }) => ({ email, isPrimary: false })),
  ]
}

const refuseEmail = async (tx: ReadTransaction, email: string): Promise<void> => {
  if (email === '') throw invalidMember('emails', 'an address must not be empty')
  if (!isEmail(email)) throw invalidMember('emails', `${JSON.stringify(email)} is not an email address`)
  checkTexts('account', { email })
  if ((await holderOfEmail(tx, email)) !== undefined)
    throw invalidMember('emails', `${email} is already used by an account`)
}

/**
 * The visible accounts with the addresses of authors of commits. The addresses of an account, the first and
 * further ones, identify it for that account alone, and no-reply addresses identify it for all viewers:
 * otherwise a commit would tell other viewers whose address it has.
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

/**
 * The viewer's account with all of its addresses in lower case, in a number of reads that does not depend on
 * the commits.
 */
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
