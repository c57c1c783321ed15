import type { Command } from 'commander'
import type { AccessToken } from '../../lib/api/tokens.ts'
import { type ApiFlags, withApi } from '../client/api-access.ts'
import { pathSegment } from '../client/api-client.ts'
import { type Column, type ListFlags, printList } from '../client/list.ts'
import { print, printJson, printNote } from '../terminal.ts'
import { apiOptions, examples } from './options.ts'

export const addTokenCommands = (program: Command): void => {
  const token = program.command('token').description('manage access tokens')
  apiOptions(token.command('add'))
    .argument('<user>')
    .description('add a token, and print only the token on standard output')
    .option('--name <n>', 'name of the token (default: cli and the time)')
    .option('--scopes <a,b>', 'what the token permits (default: all)')
    .addHelpText('after', examples('T=$(allot token add ci --scopes read:user,write:repository)'))
    .action(addToken)
  apiOptions(token.command('list'))
    .argument('<user>')
    .description("list a user's tokens and their scopes, without the tokens themselves")
    .addHelpText('after', examples('allot token list ci'))
    .action(listTokens)
  apiOptions(token.command('delete'))
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
    scopes = 'all',
    json,
    ...flags
  }: ListFlags & {
    name?: string
    scopes?: string
  },
): Promise<void> => {
  const path = `/users/${pathSegment(user)}/tokens`
  const body = { name, scopes: scopes.split(',').map((scope) => scope.trim()) }
  return withApi(
    flags,
    async (api) => {
      const added = await api.send<AccessToken>('POST', path, body, `there is no user named ${user}`)
      printNote(`added the token ${name} of ${user} with the scopes ${body.scopes.join(', ')}`)
      if (json) printJson(added)
      else print(added.sha1)
    },
    { createStore: true },
  )
}

const deleteToken = (user: string, token: string, flags: ApiFlags): Promise<void> => {
  const path = `/users/${pathSegment(user)}/tokens/${pathSegment(token)}`
  return withApi(flags, async (api) => {
    await api.send('DELETE', path, undefined, `${user} has no token ${token}, or there is no such user`)
    printNote(`revoked the token ${token} of ${user}`)
  })
}

const COLUMNS: readonly Column<AccessToken>[] = [
  { title: 'ID', cell: ({ id }) => id },
  { title: 'ENDS IN', cell: ({ token_last_eight }) => token_last_eight },
  { title: 'SINCE', cell: ({ created_at }) => created_at.slice(0, 10) },
  { title: 'SCOPES', cell: ({ scopes }) => scopes.join(',') },
  { title: 'NAME', cell: ({ name }) => name },
]

const listTokens = (user: string, flags: ListFlags): Promise<void> =>
  printList(flags, {
    path: `/users/${pathSegment(user)}/tokens`,
    columns: COLUMNS,
    empty: `${user} has no tokens`,
    notFound: `there is no user named ${user}`,
  })
