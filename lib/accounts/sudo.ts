import type { IncomingMessage } from 'node:http'
import { AllotError } from '../errors.ts'
import type { Account } from '../records/schema/index.ts'
import type { Store } from '../records/store.ts'
import { accountByName, type Identity } from './access.ts'
import type { Identities } from './identity.ts'

/**
 * Lets administrators act for the user that the header `Sudo` or the query parameter `sudo` names. The request has the
 * rights of that user within the scopes of the administrator's credentials.
 */
export const withSudo = (store: Store, identities: Identities): Identities => ({
  ...identities,
  authenticate(req) {
    const identity = identities.authenticate(req)
    const name = sudoIn(req)
    return name === undefined ? identity : actAs(store, req, identity, name)
  },
  // The identity depends on the other user as well, so it has no key.
  cacheKeyOf: (req) => (sudoIn(req) === undefined ? identities.cacheKeyOf(req) : undefined),
})

/** Cheap test whether a query can have the parameter, whose letters can be percent-encoded. */
const MAY_NAME = /sudo|%/

/** The named user; undefined when the request names none. */
const sudoIn = ({ headers, url = '' }: IncomingMessage): string | undefined => {
  const header = headers.sudo
  if (typeof header === 'string' && header !== '') return header
  const index = url.indexOf('?')
  if (index === -1 || !MAY_NAME.test(url.slice(index))) return undefined
  return new URLSearchParams(url.slice(index)).get('sudo') || undefined
}

const actAs = async (
  store: Store,
  { method = 'GET' }: IncomingMessage,
  sender: Promise<Identity | null>,
  name: string,
): Promise<Identity> => {
  const administrator = await sender
  if (administrator === null || !administrator.admin)
    throw new AllotError('forbidden', 'only administrators can act for another user with Sudo')
  const { scopes } = administrator
  const scope = method === 'GET' || method === 'HEAD' ? 'read:admin' : 'write:admin'
  if (!['all', 'write:admin', scope].some((allowed) => scopes.has(allowed)))
    throw new AllotError('forbidden', `Sudo needs a token with the scope ${scope}`)
  const account = await store.read((tx) => accountByName(tx, name))
  if (account?.kind !== 'user')
    throw new AllotError('not_found', `Sudo names the user ${name}, who does not exist`)
  return { ...identityOfUser(account), scopes }
}

const identityOfUser = ({ id, name, admin }: Account): Omit<Identity, 'scopes'> => ({
  id,
  username: name,
  admin,
})
