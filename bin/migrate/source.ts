import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import * as v from 'valibot'
import {
  isConnectionLost,
  type Limits,
  openDownload,
  readPages,
  type SourceResponse,
  sendRequest,
} from './source-requests.ts'

/** Checks a part of a response. */
export type Shape<T> = v.GenericSchema<unknown, T>

const ACCEPT_JSON = { accept: 'application/json' }

/** In whose name a request is sent; absent: that of the owner of the token. */
interface Sender {
  sudo?: string
  /** Other credentials; empty: none. */
  authorization?: string
}
/** Without an account. */
export const ANONYMOUS: Sender = { authorization: '' }
const REDIRECTS = [301, 302, 303, 307, 308]
/** Statuses of a path with a name that nothing has: a redirect leads to what had the name before. */
export const NAME_IS_FREE = [404, ...REDIRECTS]
const LFS_TYPE = 'application/vnd.git-lfs+json'
const MAX_ATTEMPTS = 4
const MAX_PAUSE_SECONDS = 60

/** The server that everything is copied from, read through its API. */
export class Source {
  /** Without a slash at the end. */
  readonly base: string
  readonly token: string
  /** Owner of the token. */
  login = ''
  /**
   * Whether it is an Allot, where members of an organization who are in no team may write to all its
   * repositories.
   */
  isAllot = false
  /** Whether it answers without a token. Otherwise only its users see what is public there. */
  isOpen = false
  readonly #limits: Limits

  constructor(base: string, token: string, limits: Limits) {
    this.base = base
    this.token = token
    this.#limits = limits
  }

  /** Whether the version can be read without a token. */
  answersEveryone(): Promise<boolean> {
    return this.has('/version', [401, 403, ...REDIRECTS], ANONYMOUS)
  }

  /**
   * Whether something exists at a path.
   * @param absent statuses that say that it does not
   * @throws SourceError for any other error or redirect: it says neither
   */
  async has(path: string, absent: readonly number[] = [404], as?: Sender): Promise<boolean> {
    return (await this.#find(path, absent, as)) !== undefined
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
   * Reads what is at a path; undefined when nothing is there.
   * @param absent statuses that mean that nothing is there
   * @throws SourceError for any other error or redirect
   */
  async find<T>(shape: Shape<T>, path: string, absent: readonly number[] = [404]): Promise<T | undefined> {
    const found = await this.#find(path, absent)
    return found && parseResponse(shape, this.base, path, found.text)
  }

  /** Reads a list, all pages of it. */
  list<T>(shape: Shape<T>, path: string): Promise<T[]> {
    return collect(this.items(shape, path))
  }

  /**
   * Reads a list in the name of a user, who sees more of it than an administrator.
   * @param user undefined: the owner of the token
   * @returns the list; `isRefused` when the server does not permit that, and the items are those that the
   * owner of the token sees
   */
  async listAs<T>(shape: Shape<T>, path: string, user?: string): Promise<{ items: T[]; isRefused: boolean }> {
    const sender = user === undefined ? undefined : { sudo: user }
    try {
      return { items: await collect(this.items(shape, path, sender)), isRefused: false }
    } catch (error) {
      if (sender === undefined) throw error
      // An administrator cannot act as an account that may not sign in.
      if (!(error instanceof SourceError) || (error.status !== 403 && error.status !== 401)) throw error
      return { items: await this.list(shape, path), isRefused: true }
    }
  }

  /** Reads a list while its items are used, one page at a time. */
  items<T>(shape: Shape<T>, path: string, as?: Sender): AsyncGenerator<T> {
    const parse = (text: string) => parseResponse(v.array(shape), this.base, path, text)
    return readPages(path, (page) => this.#read(page, as), parse, this.#limits)
  }

  /** Reads the results of a search, which are wrapped in an object, all pages of them. */
  search<T>(shape: Shape<T>, path: string, as: Sender): Promise<T[]> {
    const results = v.object({ data: v.array(shape) })
    const parse = (text: string) => parseResponse(results, this.base, path, text).data
    return collect(readPages(path, (page) => this.#read(page, as), parse, this.#limits))
  }

  /**
   * Number of items of a list.
   * @throws SourceError when the source answers with an error
   */
  async count(path: string): Promise<number> {
    const { headers, text } = await this.#read(`${path}${path.includes('?') ? '&' : '?'}limit=1`)
    const items = parseJson(text)
    return Number(headers.get('x-total-count') ?? (Array.isArray(items) ? items.length : 0))
  }

  /**
   * Downloads a file, at a path outside of the API. Redirects are not followed.
   * @param use reads the content, or a part of it: the download ends with it
   * @throws SourceError when the status isn't 200
   */
  async download<T>(
    path: string,
    use: (content: Readable) => Promise<T>,
    authorization = this.authorization,
  ): Promise<T> {
    const { status, content, close } = await this.#repeated(() =>
      openDownload(this.base, path, { authorization }, this.#limits),
    )
    try {
      if (status === 200) return await use(content)
    } finally {
      close()
    }
    const reason = status >= 300 && status < 400 ? ': it redirects to another address' : ''
    throw new SourceError(status, `${this.base}${path} answered ${status}${reason}`)
  }

  /**
   * Text of a page outside of the API; undefined when not everyone sees such a page.
   * @throws SourceError when the source is busy or fails
   */
  async page(path: string): Promise<string | undefined> {
    const { status, text } = await this.#send(path, ANONYMOUS)
    if (status === 200) return text
    if (status < 500 && status !== 429) return undefined
    throw new SourceError(status, `${this.base}${path} answered ${status}`)
  }

  /** @returns undefined for the statuses `absent` */
  async #find(path: string, absent: readonly number[], as?: Sender): Promise<SourceResponse | undefined> {
    const response = await this.request(path, as)
    if (response.status < 300) return response
    if (absent.includes(response.status)) return undefined
    throw sourceError(this.base, path, response)
  }

  async #read(path: string, as?: Sender): Promise<SourceResponse> {
    return (await this.#find(path, [], as))!
  }

  /** Reads a path of the API. */
  request(path: string, as: Sender = {}): Promise<SourceResponse> {
    return this.#send(`/api/v1${path}`, { ...ACCEPT_JSON, ...as })
  }

  /**
   * Asks for LFS objects.
   * @param path of the repository's LFS API
   * @throws SourceError
   */
  async askLfs(path: string, body: object): Promise<unknown> {
    const headers = { accept: LFS_TYPE, 'content-type': LFS_TYPE, authorization: this.authorization }
    const response = await this.#send(path, headers, JSON.stringify(body))
    if (response.status === 200) return parseJson(response.text)
    throw new SourceError(response.status, `${this.base}${path} answered ${response.status}`)
  }

  #send(path: string, headers: object, body?: string): Promise<SourceResponse> {
    const all: Record<string, string> = { authorization: `token ${this.token}`, ...headers }
    if (all.authorization === '') delete all.authorization
    return this.#repeated(() => sendRequest(this.base, path, all, this.#limits, body))
  }

  /**
   * Sends a request again while the server is busy, after the pause that it asks for, or closes the
   * connection in the place of an answer.
   */
  async #repeated<T extends Pick<SourceResponse, 'status' | 'headers'>>(send: () => Promise<T>): Promise<T> {
    const { pause = sleep } = this.#limits
    for (let attempt = 1; ; attempt++) {
      const response = await send().catch((error: Error) => {
        if (!isConnectionLost(error) || attempt === MAX_ATTEMPTS) throw error
        return undefined
      })
      const isBusy = response === undefined || response.status === 429 || response.status === 503
      if (response !== undefined && (!isBusy || attempt === MAX_ATTEMPTS)) return response
      const seconds = Number(response?.headers.get('retry-after'))
      await pause(Math.min(seconds > 0 ? seconds : attempt, MAX_PAUSE_SECONDS) * 1000)
    }
  }
}

const collect = async <T>(items: AsyncIterable<T>): Promise<T[]> => {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

/** Scope without which a Gitea shows no drafts of releases. It includes `read:repository`. */
export const DRAFTS_SCOPE = 'write:repository'
/** Scopes that a migration needs. */
export const SCOPES = `read:admin, read:issue, read:organization, read:package, read:user, ${DRAFTS_SCOPE}`

/** The source answered with an error status. */
export class SourceError extends Error {
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

export const sourceError = (base: string, path: string, { status, text }: SourceResponse): SourceError => {
  const { success, output } = v.safeParse(v.object({ message: v.string() }), parseJson(text))
  // Forgejo repeats a wrong token in the message of a 401.
  const hasMessage = success && status !== 401 && output.message !== ''
  const message = hasMessage ? `: ${output.message.split('\n')[0]!.slice(0, 300)}` : ''
  const advice = status === 403 ? `; use an administrator's token with the scopes ${SCOPES}` : ''
  const url = `${base}/api/v1${path.replace(/[?&]page=.*/, '')}`
  return new SourceError(status, `${url} answered ${status}${message}${advice}`)
}

/** @throws Error when the text isn't JSON of this shape */
export const parseResponse = <T>(shape: Shape<T>, base: string, path: string, text: string): T => {
  const { success, output, issues } = v.safeParse(shape, parseJson(text))
  if (success) return output
  throw new Error(`${base}/api/v1${path} did not answer as Gitea or Forgejo does: ${issues[0].message}`)
}

/** Undefined when the text isn't JSON. */
export const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Path at the source, from names that may contain any character. */
export const apiPath = (...segments: string[]): string =>
  segments.map((segment) => `/${encodeURIComponent(segment)}`).join('')
