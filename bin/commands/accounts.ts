import type { Command } from 'commander'
import type { Organization } from '../../lib/api/organizations.ts'
import type { AccessToken } from '../../lib/api/tokens.ts'
import type { User } from '../../lib/api/users.ts'
import { type ApiClient, type ApiFlags, pathSegment, remoteApi, withApi } from '../client/api.ts'
import { type Columns, type ListFlags, printList } from '../client/list.ts'
import type { Opened, StoreFlags } from '../config/store.ts'
import { type PrintFlags, print, printJson, printNote } from '../terminal.ts'
import {
  apiOptions,
  examples,
  type PasswordFlags,
  parseList,
  passwordOptions,
  readPassword,
  remoteOptions,
  serverOption,
  storeOptions,
} from './options.ts'
import { addUserChangeCommands, deleteAccount } from './user-changes.ts'

/** Commands for accounts: users, access tokens and organizations. */

export const addUserCommands = (program: Command): void => {
  const user = program.command('user').description('manage user accounts')
  passwordOptions(serverOption(storeOptions(user.command('add'))))
    .argument('<name>')
    .description('add a user; on a server, as the administrator whose token is in ALLOT_TOKEN')
    .option('--admin', 'make the user an administrator')
    .option('--email <e>', 'email address')
    .option('--token', 'create a token with all scopes, and print only the token on standard output')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', examples('T=$(allot user add ci --token)', 'allot user add ada --admin'))
    .action(addUser)
  addUserChangeCommands(user)
  storeOptions(user.command('link'))
    .argument('<name>')
    .description('make a link with which the user sets a password once, and print only the link')
    .addHelpText('after', examples('allot user link ada --data /var/lib/allot'))
    .action(makeLink)
  apiOptions(user.command('list'))
    .description('list all users')
    .addHelpText('after', examples('allot user list --data /var/lib/allot', 'allot user list --json'))
    .action((flags: ListFlags) =>
      printList(flags, { path: '/admin/users', columns: USERS, empty: 'there are no users yet' }),
    )
}

interface NewUserFlags extends StoreFlags, PrintFlags, PasswordFlags {
  url?: string
  admin?: boolean
  email?: string
  /** Whether a token with all scopes is created too. */
  token?: boolean
}

/** Checks a user before the store of the first one is created, which must not remain when it is refused. */
const addUser = async (name: string, { token, ...given }: NewUserFlags): Promise<void> => {
  const { admin, email, password, ...flags } = { ...given, password: await readPassword(given) }
  if (remoteApi(flags) === undefined)
    (await import('../../lib/accounts/accounts.ts')).checkNewUser({ name, email, password })
  const add = async (api: ApiClient) => {
    const body = { username: name, email, password }
    const { login } = await api.send<User>('POST', '/admin/users', { body })
    const finish = <T>(missing: string, method: string, path: string, body: object): Promise<T> =>
      api.send<T>(method, path, { body }).catch((cause: Error) => {
        throw new Error(`the user ${login} was added, but ${missing}: ${cause.message}`, { cause })
      })
    const path = `users/${pathSegment(login)}`
    if (admin) await finish('is not an administrator', 'PATCH', `/admin/${path}`, { admin: true })
    const scopes = { name: 'cli', scopes: ['all'] }
    const added = token
      ? await finish<AccessToken>('has no token yet', 'POST', `/${path}/tokens`, scopes)
      : undefined
    printNote(`added the ${admin ? 'administrator' : 'user'} ${login}`)
    if (password === undefined && added === undefined)
      printNote(`nobody can sign in as ${login} yet: allot token add makes a token`)
    if (flags.json) printJson({ login, token: added?.sha1 })
    else if (added !== undefined) print(added.sha1)
  }
  await withApi(flags, add, { creates: true })
}

/** Of a store: on a running server, the page of the account makes links. */
const makeLink = async (name: string, flags: StoreFlags): Promise<void> => {
  const [{ requireStore, withStore }, { LINK_DAYS }, { OPERATOR }, { passwordLinkPath }] = await Promise.all([
    import('../config/store.ts'),
    import('../../lib/accounts/own-passwords.ts'),
    import('../../lib/accounts/access.ts'),
    import('../../lib/web/parts/password-link.ts'),
  ])
  requireStore(flags, "name another folder with --data, or make the link on the server's page of the account")
  const printLink = async ({ allot: { hosting }, config }: Opened) => {
    const account = await hosting.accounts.byName(name)
    const link = account?.kind === 'user' && (await hosting.passwordLinks.create(account.id, OPERATOR))
    if (!link) throw new Error(`there is no user named ${name}`)
    const { baseUrl } = config.api
    printNote(`the link for ${account.name} works once, within ${LINK_DAYS} days`)
    if (baseUrl === undefined)
      printNote('it is a path at the address of the server, since base_url is not configured')
    print((baseUrl ?? '') + passwordLinkPath(link))
  }
  await withStore(flags, printLink, { alternative: "make the link on the server's page of the account" })
}

const USERS: Columns<User> = {
  ID: ({ id }) => id,
  NAME: ({ login }) => login,
  ROLE: ({ is_admin }) => (is_admin ? 'administrator' : 'user'),
  'SIGNS IN': ({ active }) => (active ? 'yes' : 'no'),
  VISIBILITY: ({ visibility }) => visibility,
  SINCE: ({ created }) => created.slice(0, 10),
  EMAIL: ({ email }) => email,
}

export const addTokenCommands = (program: Command): void => {
  const token = program.command('token').description('manage access tokens')
  apiOptions(token.command('add'))
    .argument('<user>')
    .description('add a token, and print only the token on standard output')
    .option('--name <n>', 'name of the token (default: cli and the time)')
    .option('--scopes <a,b>', 'what the token permits (default: all)', parseList)
    .addHelpText('after', examples('T=$(allot token add ci --scopes read:user,write:repository)'))
    .action(addToken)
  apiOptions(token.command('list'))
    .argument('<user>')
    .description("list a user's tokens and their scopes, without the tokens themselves")
    .addHelpText('after', examples('allot token list ci'))
    .action(listTokens)
  remoteOptions(storeOptions(token.command('delete')))
    .argument('<user>')
    .argument('<token>', 'id or name of the token, as `allot token list` prints them')
    .description('revoke a token')
    .addHelpText('after', examples('allot token delete ci 7'))
    .action(deleteToken)
}

const addToken = (
  user: string,
  {
    name = `cli ${new Date().toISOString()}`,
    scopes = ['all'],
    json,
    ...flags
  }: ListFlags & { name?: string; scopes?: string[] },
): Promise<void> => {
  const path = `/users/${pathSegment(user)}/tokens`
  const body = { name, scopes }
  return withApi(flags, async (api) => {
    const added = await api.send<AccessToken>('POST', path, {
      body,
      notFound: `there is no user named ${user}`,
    })
    printNote(`added the token ${name} of ${user} with the scopes ${body.scopes.join(', ')}`)
    if (json) printJson(added)
    else print(added.sha1)
  })
}

const deleteToken = (user: string, token: string, flags: ApiFlags): Promise<void> => {
  const path = `/users/${pathSegment(user)}/tokens/${pathSegment(token)}`
  return withApi(flags, async (api) => {
    await api.send('DELETE', path, {
      notFound: `${user} has no token ${token}, or there is no such user`,
    })
    printNote(`revoked the token ${token} of ${user}`)
  })
}

const TOKENS: Columns<AccessToken> = {
  ID: ({ id }) => id,
  'ENDS IN': ({ token_last_eight }) => token_last_eight,
  SINCE: ({ created_at }) => created_at.slice(0, 10),
  'LAST USED': ({ last_used_at }) => last_used_at?.slice(0, 10) ?? 'never',
  SCOPES: ({ scopes }) => scopes.join(','),
  NAME: ({ name }) => name,
}

const listTokens = (user: string, flags: ListFlags): Promise<void> =>
  printList(flags, {
    path: `/users/${pathSegment(user)}/tokens`,
    columns: TOKENS,
    empty: `${user} has no tokens`,
    notFound: `there is no user named ${user}`,
  })

export const addOrganizationCommands = (program: Command): void => {
  const organization = program.command('org').description('manage organizations')
  apiOptions(organization.command('add'))
    .argument('<name>')
    .description('add an organization')
    .requiredOption('--owner <user>', 'user who becomes its first owner')
    .addHelpText('after', examples('allot org add acme --owner alice'))
    .action(addOrganization)
  remoteOptions(storeOptions(organization.command('delete')))
    .argument('<name>')
    .description('delete an organization')
    .option('--purge', 'also delete the repositories and packages that the organization owns')
    .addHelpText('after', examples('allot org delete acme', 'allot org delete acme --purge'))
    .action(deleteAccount('organization', '/orgs'))
  apiOptions(organization.command('list'))
    .description('list all organizations')
    .addHelpText('after', examples('allot org list'))
    .action((flags: ListFlags) =>
      printList(flags, {
        path: '/admin/orgs',
        columns: ORGANIZATIONS,
        empty: 'there are no organizations yet',
      }),
    )
}

const addOrganization = (
  name: string,
  { owner, json, ...flags }: ListFlags & { owner: string },
): Promise<void> => {
  const path = `/admin/users/${pathSegment(owner)}/orgs`
  return withApi(flags, async (api) => {
    const body = { username: name }
    const added = await api.send<Organization>('POST', path, {
      body,
      notFound: `there is no user named ${owner}`,
    })
    if (json) printJson(added)
    printNote(`added the organization ${added.name}, owned by ${owner}`)
  })
}

const ORGANIZATIONS: Columns<Organization> = {
  ID: ({ id }) => id,
  NAME: ({ name }) => name,
  VISIBILITY: ({ visibility }) => visibility,
  'FULL NAME': ({ full_name }) => full_name,
  NOTE: ({ owners_count }) => (owners_count === 0 ? 'no owner' : ''),
}
