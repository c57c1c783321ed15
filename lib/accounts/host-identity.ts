import type { IncomingMessage } from 'node:http'
import { AllotError } from '../errors.ts'
import type { Account } from '../records/schema/index.ts'
import type { Store } from '../records/store.ts'
import { accountByName } from './access.ts'
import { ALL_SCOPES, type Identities, type Identity, refuseInactive, unauthenticated } from './identity.ts'
import { isName } from './names.ts'

/** What a host's own `authenticate` answers. `scopes` absent: all. */
export interface HostIdentity {
  username: string
  admin?: boolean | undefined
  scopes?: readonly string[] | undefined
}

export type HostAuthenticate = (
  req: IncomingMessage,
) => HostIdentity | null | undefined | Promise<HostIdentity | null | undefined>

/**
 * Whoever has the store itself at hand, as the command line has it: an administrator without an account, so that none is
 * made for looking. Only this very object is taken for it, which no host is given.
 */
export const OPERATOR: HostIdentity = { username: 'operator', admin: true }
const operator: Identity = { id: 0, username: 'operator', admin: true, scopes: ALL_SCOPES }

/** A host's own login in the place of tokens and passwords. An account that is new to the store is made on first sight. */
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
      throw unauthenticated('the name that the host gave is no valid account name')
    const find = () => store.read((tx) => accountByName(tx, host.username))
    const account = (await find()) ?? (await joinIn(find, () => create(host.username, host.admin === true)))
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

/** Of several first requests of a new user one makes the account, and the others find it then. */
const joinIn = async (
  find: () => Promise<Account | undefined>,
  make: () => Promise<Account>,
): Promise<Account> => {
  try {
    return await make()
  } catch (error) {
    const made = error instanceof AllotError && error.code === 'invalid' ? await find() : undefined
    if (made === undefined) throw error
    return made
  }
}
