import type { Opened, StoreFlags } from '../config/store.ts'
import { UsageError } from '../errors.ts'

interface Connection {
  /** URL of the API, without a slash at the end. */
  base: string
  /** URL where the API is when it is not at `base`. */
  otherBase?: string
  /** Sent with every request, such as credentials. */
  headers: Record<string, string>
  /** Sends a request over the network, or to an API in this process. */
  sendRequest: (url: string, request: RequestInit) => Promise<Response>
  /** Whether it is another process, which messages name; the messages of an opened store suffice. */
  isServer?: boolean
}

interface SendOptions {
  /** Sent as JSON. */
  body?: unknown
  /** Message of the error when the server answers 404. */
  notFound?: string | undefined
}

export class NotFoundError extends Error {}

const PAGE_SIZE = 50

/**
 * The HTTP API of a running server or of an opened store. A command calls the services or the driver of an
 * opened store only for what no route does in one step, and for what it reads or writes as a stream.
 */
export class ApiClient {
  readonly #connection: Connection
  #base: Promise<string> | undefined

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** Reads JSON, as `send` does. */
  get<T>(path: string, notFound?: string): Promise<T> {
    return this.send('GET', path, { notFound })
  }

  /**
   * Sends JSON and returns the JSON of the response; undefined for a response without a body.
   * @throws NotFoundError when the server answers 404 and `notFound` is given
   * @throws Error with the server's message for any other error response
   */
  async send<T>(method: string, path: string, options?: SendOptions): Promise<T> {
    return this.#parseJson(await this.#request(method, path, options))
  }

  /**
   * Reads a list page by page. `total` is the number of items on all pages; undefined when it is not counted,
   * as in a long search.
   */
  async *pages<T>(
    path: string,
    notFound?: string,
  ): AsyncGenerator<{ items: T[]; total: number | undefined }> {
    const separator = path.includes('?') ? '&' : '?'
    for (let [page, received] = [1, 0]; ; page++) {
      const query = `${separator}page=${page}&limit=${PAGE_SIZE}`
      const response = await this.#request('GET', path + query, { notFound })
      const list = await this.#parseJson<T[] | { data: T[] }>(response)
      const items = Array.isArray(list) ? list : list.data
      const counted = response.headers.get('x-total-count')
      const total = counted === null ? undefined : Number(counted)
      yield { items, total }
      received += items.length
      const hasNext =
        total === undefined ? response.headers.get('link')?.includes('rel="next"') : received < total
      if (items.length === 0 || !hasNext) return
    }
  }

  /**
   * Reads the bytes of a response as they arrive.
   * @throws Error for a refused request, or when the response ends early
   */
  async *stream(path: string): AsyncGenerator<Uint8Array> {
    const response = await this.#request('GET', path)
    try {
      for await (const chunk of response.body!) yield chunk as Uint8Array
    } catch (cause) {
      const url = (await this.#findBase()) + path
      throw new Error(`the response of ${url} ended early: see the log of the server`, { cause })
    }
  }

  /** URL of the API: an address with a path may be that of the API, or of what is above it. */
  #findBase(): Promise<string> {
    const { base, otherBase } = this.#connection
    this.#base ??= otherBase === undefined ? Promise.resolve(base) : this.#firstApi([base, otherBase])
    return this.#base
  }

  /**
   * An Allot answers a wrong token in JSON, too.
   * @throws Error when none of the URLs is that of the API of an Allot
   */
  async #firstApi(urls: readonly string[]): Promise<string> {
    const { headers, sendRequest } = this.#connection
    const answers: string[] = []
    for (const url of urls) {
      const response = await sendRequest(`${url}/version`, { headers })
      await response.body?.cancel()
      if (response.status !== 404 && isJson(response)) return url
      answers.push(`${url}/version answered ${response.status}${isJson(response) ? '' : ' without JSON'}`)
    }
    throw new Error(`${urls[0]} is not the address of an Allot: ${answers.join(', ')}`)
  }

  async #request(method: string, path: string, { body, notFound }: SendOptions = {}): Promise<Response> {
    const { headers, sendRequest, isServer } = this.#connection
    const base = await this.#findBase()
    const json =
      body === undefined
        ? { headers }
        : { headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(body) }
    const response = await sendRequest(base + path, { method, ...json })
    if (response.ok) return response
    if (isServer && !isJson(response)) await this.#firstApi([base])
    if (response.status === 404 && notFound !== undefined) throw new NotFoundError(notFound)
    const message = messageIn(await response.text())
    if (!isServer && message !== '') throw new Error(message)
    throw new Error(`${isServer ? base : ''}${path} answered ${response.status}${message && `: ${message}`}`)
  }

  async #parseJson<T>(response: Response): Promise<T> {
    const text = await response.text()
    try {
      return (text === '' ? undefined : JSON.parse(text)) as T
    } catch {
      const base = await this.#findBase()
      if (this.#connection.isServer) await this.#firstApi([base])
      throw new Error(`${base} did not answer JSON: is it the address of an Allot?`)
    }
  }
}

const isJson = ({ headers }: Response): boolean =>
  /^application\/json\b/.test(headers.get('content-type') ?? '')

/** The message of an error of Allot; empty for the page of a proxy. */
const messageIn = (text: string): string => {
  try {
    return String((JSON.parse(text) as { message?: unknown }).message ?? '')
  } catch {
    return ''
  }
}

/** A name that a person typed, as one segment of a path. */
export const pathSegment = (name: string): string => {
  if (name === '' || name === '.' || name === '..') throw new UsageError(`"${name}" is not a valid name`)
  return encodeURIComponent(name)
}

/** Options of commands that call the API of the store, or of a running server instead. */
export interface ApiFlags extends StoreFlags {
  url?: string
  token?: string
}

/** What to do when a server has the store open. */
export const USE_SERVER = 'name its server with --url, and a token in ALLOT_TOKEN'

/**
 * Calls `body` with the API of the running server that the options or the environment name; otherwise opens
 * the store, and calls its API in this process.
 * @param creates whether the command may create the store
 * @throws Error when there is no store: a command that fails must not leave an empty one behind
 */
export const withApi = async (
  flags: ApiFlags,
  body: (api: ApiClient) => Promise<void>,
  { creates = false } = {},
): Promise<void> => {
  const remote = remoteApi(flags)
  if (remote !== undefined) return body(remote)
  // Loaded only now: commands that talk to a server need nothing of it.
  const [{ requireStore, withStore }, { OPERATOR_IDENTITY }] = await Promise.all([
    import('../config/store.ts'),
    import('../../lib/accounts/host-users.ts'),
  ])
  if (!creates) requireStore(flags)
  const callStore = ({ allot, config }: Opened) => {
    const sendRequest = (url: string, request: RequestInit) => allot.fetch(new Request(url, request))
    return body(new ApiClient({ base: `http://localhost${config.api.basePath}`, headers: {}, sendRequest }))
  }
  await withStore(flags, callStore, { authenticate: () => OPERATOR_IDENTITY, alternative: USE_SERVER })
}

/**
 * API of the server that `--url` or ALLOT_URL names; undefined when neither is given, or an option names a
 * store.
 * @throws UsageError when options contradict each other, or the address or the token is missing or malformed
 */
export const remoteApi = ({ url, token, ...store }: ApiFlags): ApiClient | undefined => {
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
  const given = withoutEndSlashes(origin + pathname)
  // The API is where it is unless the server's configuration moves it.
  const usual = `${given}/api/v1`
  const bases = pathname === '/' ? { base: usual } : { base: given, otherBase: usual }
  const sendRequest: Connection['sendRequest'] = (url, request) =>
    fetch(url, request).catch((error: Error) => {
      throw new Error(`${url} cannot be reached: ${fetchErrorReason(error)}`)
    })
  return new ApiClient({ ...bases, headers: { authorization }, sendRequest, isServer: true })
}

/**
 * Address of a server from an option of the command line.
 * @param option such as `--url`
 * @throws UsageError when the text isn't an HTTP address; the message hides credentials
 */
export const parseAddress = (option: string, text: string, example: string): URL => {
  if (/^https?:\/\/[^/]/.test(text) && URL.canParse(text)) return new URL(text)
  const shown = text.replace(/^(\w+:\/\/)?.*@/s, '$1…@')
  throw new UsageError(`${option} ${shown}: expected an address such as ${example}`)
}

/** An address without slashes at its end. */
export const withoutEndSlashes = (address: string): string => address.replace(/(?<!\/)\/+$/, '')

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

/**
 * Why `fetch` failed. When every address of a name fails, the reasons are in an AggregateError without a
 * message.
 */
export const fetchErrorReason = ({ cause, message }: Error): string => {
  if (!(cause instanceof Error)) return message
  const reason = (cause instanceof AggregateError ? cause.errors[0] : cause) as NodeJS.ErrnoException
  return FETCH_FAULTS[reason.code ?? ''] ?? reason.message
}

const UNKNOWN_AUTHORITY =
  'its certificate is of an authority that this machine does not know: name the file with that authority in NODE_EXTRA_CA_CERTS'

const FETCH_FAULTS: Partial<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens on this port: start the server, or correct the port',
  ERR_SSL_WRONG_VERSION_NUMBER: 'this port does not speak https: write http:// in the address',
  // The bound of node itself, which a clean-up of a large repository can exceed.
  UND_ERR_HEADERS_TIMEOUT: 'the server did not answer within 300 s, and may still be at work',
  UND_ERR_SOCKET: 'the server closed the connection: write https:// in the address if it speaks https',
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_AUTHORITY,
  DEPTH_ZERO_SELF_SIGNED_CERT: UNKNOWN_AUTHORITY,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_AUTHORITY,
}
