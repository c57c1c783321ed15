import { AllotError } from '../errors.ts'
import { type Account, accounts, sshKeys, tokens } from '../records/schema/index.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { type Identity, OPERATOR } from './access.ts'
import { checkMaySignIn, unauthenticated } from './credentials.ts'

/**
 * The sender of a request that was authenticated before, as of the transaction.
 * @param hostDecides whether the login of a host says who is an administrator
 * @throws AllotError unauthenticated when the account was deleted, or the token or the SSH key revoked;
 * forbidden when the account is not active, and for Sudo by one who is not an administrator any more
 */
export const identityNow = async (
  tx: ReadTransaction,
  user: Identity,
  hostDecides: boolean,
): Promise<Identity> => {
  if (user.id === OPERATOR.id) return user
  const { administrator, credential } = user
  const sender = await existing(tx, (administrator ?? user).id)
  checkMaySignIn(sender)
  if (credential !== undefined) {
    const { kind, id } = credential
    const isKept = (await (kind === 'token' ? tokens : sshKeys).get(tx, [id])) !== undefined
    if (!isKept)
      throw unauthenticated(kind === 'token' ? 'this token was revoked' : 'this SSH key was removed')
  }
  if (hostDecides) return user
  if (administrator === undefined) return { ...user, admin: sender.admin }
  if (!sender.admin)
    throw new AllotError('forbidden', 'only administrators can act for another user with Sudo')
  return { ...user, admin: (await existing(tx, user.id)).admin }
}

const existing = async (tx: ReadTransaction, id: number): Promise<Account> => {
  const account = await accounts.get(tx, [id])
  if (account === undefined) throw unauthenticated('this account was deleted')
  return account
}
