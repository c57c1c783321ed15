import { type Api, type Call, createApi } from './client/api-client.ts'
import { UsageError } from './usage-error.ts'

/** A running server to talk to, in the place of the store. */
export interface RemoteFlags {
  url?: string
  token?: string
}

interface Here {
  data?: string
  storage?: string
  config?: string
}

/** Undefined where neither the command line nor the environment names a server, or the command line names a store. */
export const remoteIn = ({ url, token, ...here }: RemoteFlags & Here): Api | undefined => {
  const named = (['data', 'storage', 'config'] as const).find((one) => here[one] !== undefined)
  if (named !== undefined && url !== undefined)
    throw new UsageError(`--url is a running server and --${named} a store: give one of them`)
  const address = url ?? (named === undefined ? env('ALLOT_URL') : undefined)
  if (address === undefined) {
    if (token !== undefined) throw new UsageError('--token is for a running server: name it with --url, too')
    return undefined
  }
  const secret = (token ?? env('ALLOT_TOKEN'))?.trim()
  if (secret === undefined)
    throw new UsageError('a running server needs a token: --token, or ALLOT_TOKEN in the environment')
  if (!/^[\x21-\x7e]+$/.test(secret)) throw new UsageError('the token has characters that no token has')
  const api = apiIn(address)
  return createApi(api, { authorization: `token ${secret}` }, send, api)
}

const env = (name: string): string | undefined => process.env[name] || undefined

/** The API of a server that is given by its address alone is where it is unless its configuration moves it. */
const apiIn = (url: string): string => {
  if (!/^https?:\/\/[^/]/.test(url) || !URL.canParse(url))
    throw new UsageError(`--url ${withoutLogin(url)}: expected an address such as http://127.0.0.1:3000`)
  const { origin, pathname } = new URL(url)
  return pathname === '/' ? `${origin}/api/v1` : origin + pathname.replace(/\/+$/, '')
}

const withoutLogin = (url: string): string => url.replace(/[^/@]*@/, '…@')

const send: Call = (url, request) =>
  fetch(url, request).catch((error: Error) => {
    throw new Error(`${url} cannot be reached: ${reasonOf(error)}`)
  })

/** Several addresses of one name fail with several reasons, and no words of their own. */
const reasonOf = ({ cause, message }: Error): string => {
  if (!(cause instanceof Error)) return message
  return cause instanceof AggregateError ? (cause.errors[0] as Error).message : cause.message
}
