import * as v from 'valibot'
import { parseAddress } from '../client/remote-address.ts'
import { UsageError } from '../errors.ts'
import {
  LIMITS,
  type Limits,
  readPages,
  retryWhileBusy,
  type SourceResponse,
  sendRequest,
} from './source-requests.ts'
import { SourceUser } from './source-types.ts'

type Shape<T> = v.GenericSchema<unknown, T>

/** The server that everything is copied from, read through its API. */
export interface Source {
  /** Without a slash at the end. */
  readonly base: string
  /** Whether it is an Allot, where every member of an organization may write to all its repositories. */
  readonly isAllot: boolean
  /** Whether it answers without a token. Otherwise only its users see what is public there. */
  readonly isOpen: boolean
  /** Owner of the token. */
  readonly login: string
  /** `Authorization` header for git. */
  readonly authorization: string
  /** @throws SourceError when the source answers with an error */
  get<T>(shape: Shape<T>, path: string): Promise<T>
  /**
   * Reads a list page by page.
   * @param sudo user to read it as, where the server permits that to administrators: users see more of their own lists
   * @param onRefused called when the server refuses that, and the list is read as the owner of the token
   */
  list<T>(
    shape: Shape<T>,
    path: string,
    sudo?: string,
    onRefused?: () => void,
  ): AsyncGenerator<T, void, undefined>
  /** Status of the response at a path. */
  status(path: string): Promise<number>
  /** Text of a page outside of the API; undefined when the status isn't 200. */
  page(path: string): Promise<string | undefined>
}

/** The source answered with an error status. */
export class SourceError extends Error {
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** Scopes that a migration needs. */
const SCOPES = 'read:admin, read:organization, read:repository, read:user'

/** Reads a path of the API with one token. */
interface Client {
  base: string
  token: string
  request(path: string, headers?: { sudo?: string; authorization?: string }): Promise<SourceResponse>
}

/**
 * @throws UsageError when `from` isn't an address
 * @throws Error when there is no such API, or the token doesn't permit reading everything
 */
export const connectSource = async (
  from: string,
  token: string,
  limits: Limits = LIMITS,
): Promise<Source> => {
  const base = parseBase(from)
  const api = `${base}/api/v1`
  const accept = 'application/json'
  const client: Client = {
    base,
    token,
    request: (path, headers) =>
      retryWhileBusy(() =>
        sendRequest(base, api + path, { authorization: `token ${token}`, accept, ...headers }, limits),
      ),
  }
  const version = await readVersion(client)
  const login = await readAdministrator(client)
  await checkScopes(client, login)
  const anonymous = await sendRequest(base, `${api}/version`, { accept }, limits)
  const read = async (path: string, sudo?: string, onRefused?: () => void): Promise<SourceResponse> => {
    const response = await client.request(path, sudo === undefined ? {} : { sudo })
    if (response.status < 300) return response
    // An administrator cannot act as an account that may not sign in.
    if (sudo === undefined || (response.status !== 403 && response.status !== 401))
      throw sourceError(base, path, response)
    onRefused?.()
    return read(path)
  }
  return {
    base,
    login,
    isAllot: version.includes('+allot-'),
    isOpen: anonymous.status === 200,
    authorization: basicCredentials(login, token),
    get: async (shape, path) => parseResponse(shape, base, path, (await read(path)).text),
    list: (shape, path, sudo, onRefused) =>
      readPages(
        path,
        (page) => read(page, sudo, onRefused),
        (text) => parseResponse(v.array(shape), base, path, text),
        limits,
      ),
    status: async (path) => (await client.request(path)).status,
    async page(path) {
      const { status, text } = await sendRequest(base, base + path, {}, limits)
      return status === 200 ? text : undefined
    },
  }
}

/** Accepts the address of the server, and that of its API. */
const parseBase = (from: string): string => {
  const { origin, pathname, username, password } = parseAddress('--from', from, 'https://git.example.org')
  if (from.length > 255) throw new UsageError('--from must not be longer than 255 characters')
  if (username !== '' || password !== '')
    throw new UsageError('--from must not hold a password: the token is enough')
  return origin + pathname.replace(/\/+$/, '').replace(/\/api\/v1$/, '')
}

const readVersion = async ({ base, request }: Client): Promise<string> => {
  const { status, headers, text } = await request('/version')
  const location = headers.get('location')
  if (status >= 300 && status < 400 && location !== null)
    throw new Error(
      `${base} redirects to ${new URL(location, base).origin}, and the token is not sent there: give that address if it is the right one`,
    )
  if (status === 401) throw new Error(`${base} does not know this token`)
  const { success, output } = v.safeParse(v.object({ version: v.string() }), parseJson(text))
  if (success) return output.version
  throw new Error(`there is no Gitea, Forgejo or Allot at ${base}: ${base}/api/v1/version has no version`)
}

/** @returns the owner of the token */
const readAdministrator = async ({ base, request }: Client): Promise<string> => {
  const response = await request('/user')
  if (response.status === 401) throw new Error(`${base} does not know this token`)
  if (response.status >= 300) throw sourceError(base, '/user', response)
  const { login, is_admin } = parseResponse(SourceUser, base, '/user', response.text)
  if (is_admin === true) return login
  throw new Error(
    `the token belongs to ${login}, who is not an administrator of ${base}: use an administrator's token with the scopes ${SCOPES}`,
  )
}

/** For each scope a request that is refused without it. `read:user` is needed for `/user`, which was read before. */
const PROBES: readonly [scope: string, path: string][] = [
  ['read:admin', '/admin/users?limit=1'],
  ['read:organization', '/user/orgs?limit=1'],
  ['read:repository', '/user/repos?limit=1'],
]

const SourceTokens = v.array(
  v.object({
    token_last_eight: v.optional(v.string()),
    scopes: v.optional(v.nullable(v.array(v.string()))),
    repositories: v.optional(v.nullable(v.array(v.unknown()))),
  }),
)

/**
 * Refuses a token that can see only a part of the source: the rest would look deleted, and would be revoked here.
 * @throws Error that names the missing scope
 */
const checkScopes = async ({ base, token, request }: Client, login: string): Promise<void> => {
  for (const [scope, path] of PROBES) {
    const { status } = await request(path)
    if (status === 401 || status === 403)
      throw new Error(
        `the token of ${login} lacks the scope ${scope}: nothing was copied; use an administrator's token with the scopes ${SCOPES}`,
      )
    if (status >= 300) throw new Error(`${base}/api/v1${path} answered ${status}: nothing was copied`)
  }
  // Gitea lists tokens only with Basic credentials.
  const authorization = basicCredentials(login, token)
  const tokens = await request(`/users/${encodeURIComponent(login)}/tokens?limit=50`, { authorization })
  if (tokens.status !== 200) return
  const { success, output } = v.safeParse(SourceTokens, parseJson(tokens.text))
  const own = success ? output.find((one) => one.token_last_eight === token.slice(-8)) : undefined
  if (own?.scopes?.includes('public-only') || (own?.repositories?.length ?? 0) > 0)
    throw new Error(
      `the token of ${login} sees only a part of ${base}: nothing was copied; use one for all repositories, public and private`,
    )
}

const basicCredentials = (login: string, token: string): string =>
  `Basic ${Buffer.from(`${login}:${token}`).toString('base64')}`

const sourceError = (base: string, path: string, { status, text }: SourceResponse): SourceError => {
  const { success, output } = v.safeParse(v.object({ message: v.string() }), parseJson(text))
  // Forgejo repeats a wrong token in the message of a 401.
  const hasMessage = success && status !== 401 && output.message !== ''
  const message = hasMessage ? `: ${output.message.split('\n')[0]!.slice(0, 300)}` : ''
  const advice = status === 403 ? `; use an administrator's token with the scopes ${SCOPES}` : ''
  const url = `${base}/api/v1${path.replace(/[?&]page=.*/, '')}`
  return new SourceError(status, `${url} answered ${status}${message}${advice}`)
}

/** @throws Error when the text isn't JSON of this shape */
const parseResponse = <T>(shape: Shape<T>, base: string, path: string, text: string): T => {
  const { success, output, issues } = v.safeParse(shape, parseJson(text))
  if (success) return output
  throw new Error(`${base}/api/v1${path} did not answer as Gitea or Forgejo does: ${issues[0].message}`)
}

/** Undefined when the text isn't JSON. */
const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
