import type { StoreFlags } from '../config/store.ts'
import { UsageError } from '../errors.ts'
import { type Api, createApi } from './api.ts'

/**
 * Address of a server from an option of the command line.
 * @param option such as `--url`
 * @throws UsageError when the text isn't an HTTP address; the message hides credentials
 */
export const parseAddress = (option: string, text: string, example: string): URL => {
  if (/^https?:\/\/[^/]/.test(text) && URL.canParse(text)) return new URL(text)
  throw new UsageError(`${option} ${text.replace(/[^/@]*@/, '…@')}: expected an address such as ${example}`)
}

/**
 * Access token from `--token` or from the environment.
 * @param server which server needs it, for the message
 * @throws UsageError when there is none, or it has characters that a header cannot carry
 */
export const readToken = (option: string | undefined, variable: string, server: string): string => {
  const token = (option ?? process.env[variable])?.trim()
  if (!token)
    throw new UsageError(
      `${server} needs an access token: give --token, or set ${variable} in the environment`,
    )
  if (!/^[\x21-\x7e]+$/.test(token)) throw new UsageError('the token contains characters that no token has')
  return token
}

/** Why `fetch` failed. When every address of a name fails, the reasons are in an AggregateError without a message. */
export const fetchErrorReason = ({ cause, message }: Error): string => {
  if (!(cause instanceof Error)) return message
  return cause instanceof AggregateError ? (cause.errors[0] as Error).message : cause.message
}

/** Options that name a running server to use instead of the store. */
interface RemoteFlags {
  url?: string
  token?: string
}

export interface ApiFlags extends StoreFlags, RemoteFlags {}

/**
 * Calls `body` with the API of the running server that the options or the environment name; otherwise opens the store, and
 * calls its API in this process.
 * @param createStore whether a store that doesn't exist is created. Commands that only read must not leave one behind.
 */
export const withApi = async (
  flags: ApiFlags,
  body: (api: Api) => Promise<void>,
  { createStore = false } = {},
): Promise<void> => {
  const remote = remoteApi(flags)
  if (remote !== undefined) return body(remote)
  // Loaded only now: commands that talk to a server need nothing of it.
  const [{ openForCommand, requireStore }, { OPERATOR }] = await Promise.all([
    import('../config/store.ts'),
    import('../../lib/accounts/host-identity.ts'),
  ])
  if (!createStore) requireStore(flags)
  const { allot, config } = await openForCommand(flags, { authenticate: () => OPERATOR })
  try {
    const sendRequest = (url: string, request: RequestInit) => allot.fetch(new Request(url, request))
    await body(createApi({ base: `http://localhost${config.api.basePath}`, headers: {}, sendRequest }))
  } finally {
    await allot.close()
  }
}

/**
 * API of the server that `--url` or ALLOT_URL names; undefined when neither is given, or an option names a store.
 * @throws UsageError when options contradict each other, or the address or the token is missing or malformed
 */
export const remoteApi = ({ url, token, ...store }: ApiFlags): Api | undefined => {
  const storeOption = (['data', 'storage', 'config'] as const).find((name) => store[name] !== undefined)
  if (storeOption !== undefined && url !== undefined)
    throw new UsageError(`--url names a running server and --${storeOption} a store: give one of them`)
  const address = url ?? (storeOption === undefined ? process.env.ALLOT_URL || undefined : undefined)
  if (address === undefined) {
    if (token !== undefined) throw new UsageError('--token is for a running server: name it with --url')
    return undefined
  }
  const authorization = `token ${readToken(token, 'ALLOT_TOKEN', 'a running server')}`
  const { origin, pathname } = parseAddress('--url', address, 'http://127.0.0.1:3000')
  // An address without a path: the API is where it is unless the server's configuration moves it.
  const base = pathname === '/' ? `${origin}/api/v1` : origin + pathname.replace(/\/+$/, '')
  return createApi({ base, headers: { authorization }, sendRequest, server: base })
}

const sendRequest = (url: string, request: RequestInit): Promise<Response> =>
  fetch(url, request).catch((error: Error) => {
    throw new Error(`${url} cannot be reached: ${fetchErrorReason(error)}`)
  })
