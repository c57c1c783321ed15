import type { Command } from 'commander'
import type { AccessToken } from '../../lib/api/tokens.ts'
import type { User } from '../../lib/api/users.ts'
import { remoteApi } from '../client/api-access.ts'
import { type Api, pathSegment } from '../client/api-client.ts'
import { type Column, type ListFlags, printList } from '../client/list.ts'
import type { StoreFlags } from '../config/store.ts'
import { type PrintFlags, print, printJson, printNote } from '../terminal.ts'
import { apiOptions, examples, serverOption, storeOptions } from './options.ts'

export const addUserCommands = (program: Command): void => {
  const user = program.command('user').description('manage user accounts')
  serverOption(storeOptions(user.command('add')))
    .argument('<name>')
    .description('add a user; on a server, as the administrator whose token is in ALLOT_TOKEN')
    .option('--admin', 'make the user an administrator')
    .option('--email <e>', 'email address')
    .option('--password <p>', 'password, at least 8 characters')
    .option('--token', 'create a token with all scopes, and print only the token on standard output')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', examples('T=$(allot user add ci --token)', 'allot user add ada --admin'))
    .action(addUser)
  apiOptions(user.command('list'))
    .description('list all users')
    .addHelpText('after', examples('allot user list --data /var/lib/allot', 'allot user list --json'))
    .action(listUsers)
}

interface NewUser {
  name: string
  admin: boolean | undefined
  email: string | undefined
  password: string | undefined
  /** Whether a token with all scopes is created too. */
  hasToken: boolean
}

interface AddFlags extends StoreFlags, PrintFlags, Partial<Omit<NewUser, 'name' | 'hasToken'>> {
  url?: string
  token?: boolean
}

interface AddedUser {
  name: string
  token: string | undefined
}

const addUser = async (name: string, { json, token, ...flags }: AddFlags): Promise<void> => {
  const { admin, email, password } = flags
  const user = { name, admin, email, password, hasToken: token === true }
  const remote = remoteApi(flags)
  const added = remote === undefined ? await addToStore(flags, user) : await addToServer(remote, user)
  printNote(`added the ${admin ? 'administrator' : 'user'} ${added.name}`)
  if (json) printJson({ login: added.name, ...(added.token === undefined ? {} : { token: added.token }) })
  else if (added.token !== undefined) print(added.token)
}

/** Not through the API, which cannot create an administrator in one step. */
const addToStore = async (store: StoreFlags, { hasToken, ...user }: NewUser): Promise<AddedUser> => {
  const { withStore } = await import('../config/store.ts')
  return withStore(store, async ({ hosting }) => {
    const { id, name } = await hosting.accounts.createUser(user)
    const token = hasToken ? await hosting.tokens.create(id, 'cli', ['all']) : undefined
    return { name, token: token?.secret }
  })
}

const addToServer = async (
  api: Api,
  { name, admin, email, password, hasToken }: NewUser,
): Promise<AddedUser> => {
  const { login } = await api.send<User>('POST', '/admin/users', { username: name, email, password })
  const path = `users/${pathSegment(login)}`
  if (admin) await api.send('PATCH', `/admin/${path}`, { admin: true })
  const body = { name: 'cli', scopes: ['all'] }
  const token = hasToken ? await api.send<AccessToken>('POST', `/${path}/tokens`, body) : undefined
  return { name: login, token: token?.sha1 }
}

const COLUMNS: readonly Column<User>[] = [
  { title: 'ID', cell: ({ id }) => id },
  { title: 'NAME', cell: ({ login }) => login },
  { title: 'ROLE', cell: ({ is_admin }) => (is_admin ? 'administrator' : 'user') },
  { title: 'SIGNS IN', cell: ({ active }) => (active ? 'yes' : 'no') },
  { title: 'SEEN BY', cell: ({ visibility }) => visibility },
  { title: 'SINCE', cell: ({ created }) => created.slice(0, 10) },
  { title: 'EMAIL', cell: ({ email }) => email },
]

const listUsers = (flags: ListFlags): Promise<void> =>
  printList(flags, { path: '/admin/users', columns: COLUMNS, empty: 'there are no users yet' })
