import { setTimeout as sleep } from 'node:timers/promises'
import * as v from 'valibot'
import { parseAddress } from '../client/api.ts'
import { UsageError } from '../errors.ts'
import { LIMITS, type Limits, readPages, type SourceResponse, sendRequest } from './source-requests.ts'

/** The parts of the responses of Gitea, Forgejo and Allot that are used. Versions differ in which of the optional ones they send. */
const text = v.nullish(v.string(), '')
const flag = v.nullish(v.boolean(), false)
const count = v.optional(v.number(), 0)

/** What users and organizations have in common. */
const profile = {
  full_name: text,
  website: text,
  description: text,
  location: text,
  visibility: v.optional(v.picklist(['public', 'limited', 'private']), 'public'),
}

export const SourceUser = v.object({
  ...profile,
  login: v.string(),
  email: text,
  is_admin: flag,
  active: v.nullish(v.boolean(), true),
  prohibit_login: flag,
  restricted: flag,
  source_id: count,
})
export type SourceUser = v.InferOutput<typeof SourceUser>

export const SourceOrganization = v.pipe(
  v.object({ ...profile, name: v.optional(v.string()), username: v.optional(v.string()) }),
  v.transform(({ name, username, ...rest }) => ({ ...rest, name: name ?? username ?? '' })),
)
export type SourceOrganization = v.InferOutput<typeof SourceOrganization>

export const SourceRepository = v.object({
  name: v.string(),
  full_name: v.string(),
  owner: v.object({ login: v.string() }),
  description: text,
  website: text,
  default_branch: text,
  private: v.boolean(),
  internal: flag,
  archived: flag,
  mirror: flag,
  fork: flag,
  empty: flag,
  /** KiB */
  size: count,
  open_issues_count: count,
  open_pr_counter: count,
  release_counter: count,
})
export type SourceRepository = v.InferOutput<typeof SourceRepository>

export type Shape<T> = v.GenericSchema<unknown, T>

const ACCEPT_JSON = { accept: 'application/json' }
const MAX_ATTEMPTS = 4
const MAX_PAUSE_SECONDS = 60

/** The server that everything is copied from, read through its API. */
export class Source {
  /** Without a slash at the end. */
  readonly base: string
  readonly token: string
  /** Owner of the token. */
  login = ''
  /** Whether it is an Allot, where every member of an organization may write to all its repositories. */
  isAllot = false
  /** Whether it answers without a token. Otherwise only its users see what is public there. */
  isOpen = false
  readonly #limits: Limits

  constructor(base: string, token: string, limits: Limits) {
    this.base = base
    this.token = token
    this.#limits = limits
  }

  /** @throws Error when the address does not have such an API, or the token doesn't permit reading everything */
  async connect(): Promise<void> {
    this.isAllot = (await readVersion(this)).includes('+allot-')
    this.login = await readAdministrator(this)
    await checkScopes(this)
    const { status } = await sendRequest(this.base, '/api/v1/version', ACCEPT_JSON, this.#limits)
    this.isOpen = status === 200
  }

  /** `Authorization` header for git. */
  get authorization(): string {
    return `Basic ${Buffer.from(`${this.login}:${this.token}`).toString('base64')}`
  }

  /** @throws SourceError when the source answers with an error */
  async get<T>(shape: Shape<T>, path: string): Promise<T> {
    return parseResponse(shape, this.base, path, (await this.#read(path)).text)
  }

  /**
   * Reads a list, all pages of it.
   * @param sudo user to read it as, where the server permits that to administrators: users see more of their own lists
   * @param onRefused called when the server refuses that, and the list is read as the owner of the token
   */
  async list<T>(shape: Shape<T>, path: string, sudo?: string, onRefused?: () => void): Promise<T[]> {
    const readPage = (page: string) => this.#read(page, sudo, onRefused)
    const parse = (text: string) => parseResponse(v.array(shape), this.base, path, text)
    const items: T[] = []
    for await (const item of readPages(path, readPage, parse, this.#limits)) items.push(item)
    return items
  }

  /** Text of a page outside of the API; undefined when the status isn't 200. */
  async page(path: string): Promise<string | undefined> {
    const { status, text } = await sendRequest(this.base, path, {}, this.#limits)
    return status === 200 ? text : undefined
  }

  async #read(path: string, sudo?: string, onRefused?: () => void): Promise<SourceResponse> {
    const response = await this.request(path, sudo === undefined ? {} : { sudo })
    if (response.status < 300) return response
    // An administrator cannot act as an account that may not sign in.
    if (sudo === undefined || (response.status !== 403 && response.status !== 401))
      throw sourceError(this.base, path, response)
    onRefused?.()
    return this.#read(path)
  }

  /** Reads a path of the API. Repeats the request while the server answers that it is busy, after the pause that it asks for. */
  async request(
    path: string,
    headers: { sudo?: string; authorization?: string } = {},
  ): Promise<SourceResponse> {
    const all = { ...ACCEPT_JSON, authorization: `token ${this.token}`, ...headers }
    for (let attempt = 1; ; attempt++) {
      const response = await sendRequest(this.base, `/api/v1${path}`, all, this.#limits)
      const isBusy = response.status === 429 || response.status === 503
      if (!isBusy || attempt === MAX_ATTEMPTS) return response
      const seconds = Number(response.headers.get('retry-after'))
      await sleep(Math.min(seconds > 0 ? seconds : attempt, MAX_PAUSE_SECONDS) * 1000)
    }
  }
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

/**
 * @throws UsageError when `from` isn't an address
 * @throws Error when there is no such API, or the token doesn't permit reading everything
 */
export const connectSource = async (from: string, token: string, limits = LIMITS): Promise<Source> => {
  const source = new Source(parseBase(from), token, limits)
  await source.connect()
  return source
}

/** Accepts the address of the server, and that of its API. */
const parseBase = (from: string): string => {
  const { origin, pathname, username, password } = parseAddress('--from', from, 'https://git.example.org')
  if (from.length > 255) throw new UsageError('--from must not be longer than 255 characters')
  if (username !== '' || password !== '')
    throw new UsageError('--from must not hold a password: the token is enough')
  return origin + pathname.replace(/\/+$/, '').replace(/\/api\/v1$/, '')
}

const readVersion = async (source: Source): Promise<string> => {
  const { base } = source
  const { status, headers, text } = await source.request('/version')
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
const readAdministrator = async (source: Source): Promise<string> => {
  const { base } = source
  const response = await source.request('/user')
  if (response.status === 401) throw new Error(`${base} does not know this token`)
  if (response.status >= 300) throw sourceError(base, '/user', response)
  const { login, is_admin } = parseResponse(SourceUser, base, '/user', response.text)
  if (is_admin) return login
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
    scopes: v.nullish(v.array(v.string())),
    repositories: v.nullish(v.array(v.unknown())),
  }),
)

/**
 * Refuses a token that can see only a part of the source: the rest would look deleted, and would be revoked here.
 * @throws Error that names the missing scope
 */
const checkScopes = async (source: Source): Promise<void> => {
  const { base, token, login, authorization } = source
  for (const [scope, path] of PROBES) {
    const { status } = await source.request(path)
    if (status === 401 || status === 403)
      throw new Error(
        `the token of ${login} lacks the scope ${scope}: nothing was copied; use an administrator's token with the scopes ${SCOPES}`,
      )
    if (status >= 300) throw new Error(`${base}/api/v1${path} answered ${status}: nothing was copied`)
  }
  // Gitea lists tokens only with Basic credentials.
  const tokens = await source.request(`/users/${encodeURIComponent(login)}/tokens?limit=50`, {
    authorization,
  })
  if (tokens.status !== 200) return
  const { success, output } = v.safeParse(SourceTokens, parseJson(tokens.text))
  const own = success ? output.find((own) => own.token_last_eight === token.slice(-8)) : undefined
  if (own?.scopes?.includes('public-only') || (own?.repositories?.length ?? 0) > 0)
    throw new Error(
      `the token of ${login} sees only a part of ${base}: nothing was copied; use one for all repositories, public and private`,
    )
}

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
