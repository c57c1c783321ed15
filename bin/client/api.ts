import { parseExactly } from '../../lib/integers.ts'
import { UsageError } from '../errors.ts'

/** Sends a request over the network, or to an API in this process. */
type SendRequest = (url: string, request: RequestInit) => Promise<Response>

interface Page<T> {
  items: T[]
  /** Number of items on all pages. */
  total: number
}

/** The HTTP API of a running server or of an opened store. Commands read and change everything through it. */
export interface Api {
  /**
   * Reads JSON.
   * @param notFound message of the error when the server answers 404
   * @throws NotFoundError when the server answers 404 and `notFound` is given
   * @throws Error with the server's message for any other error response
   */
  get<T>(path: string, notFound?: string): Promise<T>
  /** Sends JSON and returns the JSON of the response; undefined for a response without a body. */
  send<T>(method: string, path: string, body?: unknown, notFound?: string): Promise<T>
  /** Reads a list page by page. */
  pages<T>(path: string, notFound?: string): AsyncGenerator<Page<T>, void, undefined>
  /** Reads the bytes of a response as they arrive. @throws Error also when the response ends early */
  stream(path: string): AsyncIterable<Uint8Array>
}

export class NotFoundError extends Error {}

const PAGE_SIZE = 50

interface Connection {
  /** URL of the API, without a slash at the end. */
  base: string
  /** Sent with every request, such as credentials. */
  headers: Record<string, string>
  sendRequest: SendRequest
  /** Name of the server in messages; absent for an opened store, whose own messages suffice. */
  server?: string
}

export const createApi = (connection: Connection): Api => ({
  get: async (path, notFound) =>
    parseJson(connection, await request(connection, 'GET', path, undefined, notFound)),
  send: async (method, path, body, notFound) =>
    parseJson(connection, await request(connection, method, path, body, notFound)),
  pages: (path, notFound) => readPages(connection, path, notFound),
  stream: (path) => readStream(connection, path),
})

const request = async (
  connection: Connection,
  method: string,
  path: string,
  body?: unknown,
  notFound?: string,
): Promise<Response> => {
  const { base, headers, sendRequest, server } = connection
  const json =
    body === undefined
      ? { headers }
      : { headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(body) }
  const response = await sendRequest(base + path, { method, ...json })
  if (response.ok) return response
  if (response.status === 404 && notFound !== undefined) {
    await requireAllot(connection)
    throw new NotFoundError(notFound)
  }
  const message = messageIn(await response.text())
  if (server === undefined && message !== '') throw new Error(message)
  throw new Error(`${server ?? ''}${path} answered ${response.status}${message && `: ${message}`}`)
}

/** A 404 can also mean that the address isn't the address of an Allot. */
const requireAllot = async ({ base, headers, sendRequest, server }: Connection): Promise<void> => {
  if (server === undefined) return
  const version = await sendRequest(`${base}/version`, { headers })
  if (!version.ok)
    throw new Error(`${server} is not the API of an Allot: ${server}/version answered ${version.status}`)
}

const parseJson = async <T>({ base, server }: Connection, response: Response): Promise<T> => {
  const text = await response.text()
  try {
    return (text === '' ? undefined : parseExactly(text)) as T
  } catch {
    throw new Error(`${server ?? base} did not answer JSON: is it the address of an Allot?`)
  }
}

async function* readPages<T>(
  connection: Connection,
  path: string,
  notFound?: string,
): AsyncGenerator<Page<T>, void, undefined> {
  const separator = path.includes('?') ? '&' : '?'
  for (let [page, received, total] = [1, 0, 1]; received < total; page++) {
    const query = `${separator}page=${page}&limit=${PAGE_SIZE}`
    const response = await request(connection, 'GET', path + query, undefined, notFound)
    const list = await parseJson<T[] | { data: T[] }>(connection, response)
    const items = Array.isArray(list) ? list : list.data
    total = Number(response.headers.get('x-total-count') ?? 0)
    yield { items, total }
    if (items.length === 0) return
    received += items.length
  }
}

async function* readStream(connection: Connection, path: string): AsyncGenerator<Uint8Array> {
  const response = await request(connection, 'GET', path)
  try {
    for await (const chunk of response.body!) yield chunk as Uint8Array
  } catch (cause) {
    throw new Error(`the response of ${connection.base}${path} ended early: see the log of the server`, {
      cause,
    })
  }
}

const messageIn = (text: string): string => {
  try {
    return String((JSON.parse(text) as { message?: unknown }).message ?? text)
  } catch {
    return text.slice(0, 200)
  }
}

/** A name that a person typed, as one segment of a path. */
export const pathSegment = (name: string): string => {
  if (name === '' || name === '.' || name === '..') throw new UsageError(`"${name}" is not a valid name`)
  return encodeURIComponent(name)
}
