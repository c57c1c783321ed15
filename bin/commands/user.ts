import type { AccessToken } from '../../lib/api/token-schema.ts'
import type { User } from '../../lib/api/user-schema.ts'
import { explainLocked } from '../client/api-access.ts'
import { type Api, pathSegment } from '../client/api-client.ts'
import type { StoreFlags } from '../config/store.ts'
import { withStore } from '../open.ts'
import { remoteIn } from '../remote-options.ts'
import { type PrintFlags, print, printJson, printNote } from '../terminal/print.ts'

interface Flags extends StoreFlags, PrintFlags {
  url?: string
  admin?: boolean
  email?: string
  password?: string
  token?: boolean
}

interface Added {
  name: string
  secret: string | undefined
}

/** In a store the user is an administrator from the first moment; the API makes one in two steps. */
export const addUser = async (name: string, { token, json, ...flags }: Flags): Promise<void> => {
  const remote = remoteIn({ ...flags })
  const wanted = { ...flags, name, token: token === true }
  const added = remote === undefined ? await inStore(wanted) : await onServer(remote, wanted)
  printNote(`added the ${flags.admin ? 'administrator' : 'user'} ${added.name}`)
  if (json) printJson({ login: added.name, ...(added.secret === undefined ? {} : { token: added.secret }) })
  else if (added.secret !== undefined) print(added.secret)
}

type Wanted = Omit<Flags, 'token' | 'json'> & { name: string; token: boolean }

const inStore = async ({ name, admin, email, password, token, ...store }: Wanted): Promise<Added> => {
  let added: Added | undefined
  await withStore(store, async ({ hosting }) => {
    const account = await hosting.accounts.createUser({ name, admin, email, password })
    const made = token ? await hosting.tokens.create(account.id, 'cli', ['all']) : undefined
    added = { name: account.name, secret: made?.secret }
  }).catch(explainLocked)
  return added!
}

const onServer = async (api: Api, { name, admin, email, password, token }: Wanted): Promise<Added> => {
  const { login } = await api.send<User>('POST', '/admin/users', { username: name, email, password })
  const path = `users/${pathSegment(login)}`
  if (admin) await api.send('PATCH', `/admin/${path}`, { admin: true })
  const body = { name: 'cli', scopes: ['all'] }
  const made = token ? await api.send<AccessToken>('POST', `/${path}/tokens`, body) : undefined
  return { name: login, secret: made?.sha1 }
}
