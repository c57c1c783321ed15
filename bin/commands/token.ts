import type { AccessToken } from '../../lib/api/token-schema.ts'
import { type ApiFlags, withApi } from '../client/api-access.ts'
import { pathSegment } from '../client/api-client.ts'
import { type PrintFlags, print, printJson, printNote } from '../terminal/print.ts'

interface Flags extends ApiFlags, PrintFlags {
  name?: string
  scopes?: string
}

export const addToken = (
  user: string,
  { name = `cli ${new Date().toISOString()}`, scopes = 'all', json, ...flags }: Flags,
): Promise<void> => {
  const path = `/users/${pathSegment(user)}/tokens`
  const body = { name, scopes: scopes.split(',').map((scope) => scope.trim()) }
  return withApi(
    flags,
    async (api) => {
      const made = await api.send<AccessToken>('POST', path, body, `there is no user named ${user}`)
      printNote(`added the token ${name} of ${user} with the scopes ${body.scopes.join(', ')}`)
      if (json) printJson(made)
      else print(made.sha1)
    },
    { mayMake: true },
  )
}

/** By its id, or its name. */
export const deleteToken = (user: string, token: string, flags: Flags): Promise<void> => {
  const path = `/users/${pathSegment(user)}/tokens/${pathSegment(token)}`
  return withApi(flags, async (api) => {
    await api.send('DELETE', path, undefined, `${user} has no token ${token}, or there is no such user`)
    printNote(`revoked the token ${token} of ${user}`)
  })
}
