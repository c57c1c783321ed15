import type { IncomingMessage } from 'node:http'
import { AllotError } from '../errors.ts'
import type { Account } from '../records/schema/index.ts'
import type { Store } from '../records/store.ts'
import { accountByName, type Identity } from './access.ts'
import { ALL_SCOPES, refuseInactive, unauthenticated } from './credentials.ts'
import type { Identities } from './identity.ts'
import { isName } from './names.ts'

/** Result of a host's `authenticate` function. Absent `scopes` mean every scope. */
export interface HostIdentity {
  username: string
  admin?: boolean | undefined
  scopes?: readonly string[] | undefined
}

export type HostAuthenticate = (
  req: IncomingMessage,
) => HostIdentity | null | undefined | Promise<HostIdentity | null | undefined>

/**
 * Identity of the command line, which works on the store itself: an administrator without an account. It is compared by
 * object identity, so a host cannot produce it.
 */
export const OPERATOR: HostIdentity = { username: 'operator', admin: true }
const operator: Identity = { id: 0, username: 'operator', admin: true, scopes: ALL_SCOPES }

/** Identities from the host's own login instead of tokens and passwords. The first request of a user creates the account. */
export const createHostIdentities = (
  store: Store,
  authenticate: HostAuthenticate,
  create: (name: string, admin: boolean) => Promise<Account>,
): Identities => ({
  async authenticate(req) {
    const host = await authenticate(req)
    if (host === null || host === undefined) return null
    if (host === OPERATOR) return operator
    if (typeof host.username !== 'string' || !isName(host.username))
      throw unauthenticated(
        `the host's authenticate function returned ${JSON.stringify(host.username)}, which is not a valid user name`,
      )
    const find = () => store.read((tx) => accountByName(tx, host.username))
    const account =
      (await find()) ?? (await createOrFind(find, () => create(host.username, host.admin === true)))
    if (account.kind !== 'user') throw unauthenticated('an organization cannot sign in')
    refuseInactive(account)
    return {
      id: account.id,
      username: account.name,
      admin: host.admin ?? account.admin,
      scopes: host.scopes === undefined ? ALL_SCOPES : new Set(host.scopes),
    }
  },
  cacheKeyOf: () => undefined,
  onTokenRevoked: () => undefined,
  onAccountChanged: () => undefined,
})

/** Concurrent first requests of a user all try to create the account: one succeeds, the others find it. */
const createOrFind = async (
  find: () => Promise<Account | undefined>,
  create: () => Promise<Account>,
): Promise<Account> => {
  try {
    return await create()
  } catch (error) {
    const account = error instanceof AllotError && error.code === 'invalid' ? await find() : undefined
    if (account === undefined) throw error
    return account
  }
}
