import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { fetchErrorReason } from '../client/api.ts'

/**
 * Requests to the source, which is not trusted: every response is limited in time and size, every list in
 * pages, and redirects are not followed, so that the token is sent to no other server.
 */

export interface Limits {
  /** For one response with its body. */
  timeoutMs: number
  /** Bytes of one body, after decompression. */
  maxBytes: number
  /** Pages of one list. */
  maxPages: number
  /** Sends a request to a server in this process; absent: over the network. */
  fetch?: (url: string, request: RequestInit) => Promise<Response>
  /** Waits before a request is sent again; absent: in real time. */
  pause?: (ms: number) => Promise<unknown>
}

export const LIMITS: Limits = { timeoutMs: 120_000, maxBytes: 32 * 1024 * 1024, maxPages: 20_000 }

export interface SourceResponse {
  status: number
  headers: Headers
  text: string
}

class TooLargeError extends Error {}

/**
 * The URL of a path below the address of the source. Responses of the source name paths: one that the address
 * continues with, such as `.example.org/`, would lead to another server, which would get the credentials.
 */
const urlOf = (base: string, path: string): string => {
  const url = base + path
  if (path.startsWith('/') && new URL(url).origin === new URL(base).origin) return url
  throw new Error(
    `${base} names the path ${JSON.stringify(path.slice(0, 200))}, which does not begin with a slash`,
  )
}

/** @throws Error when the server cannot be reached, or its response is too slow or too large */
export const sendRequest = async (
  base: string,
  path: string,
  headers: Record<string, string>,
  { timeoutMs, maxBytes, fetch: send = fetch }: Limits,
  body?: string,
): Promise<SourceResponse> => {
  const url = urlOf(base, path)
  try {
    const signal = AbortSignal.timeout(timeoutMs)
    const sent = body === undefined ? {} : { method: 'POST', body }
    const response = await send(url, { headers, redirect: 'manual', signal, ...sent })
    return { status: response.status, headers: response.headers, text: await readBody(response, maxBytes) }
  } catch (cause) {
    const shown = url.split('?')[0]
    if (cause instanceof TooLargeError) throw new Error(`${shown} answered more than ${maxBytes} bytes`)
    if ((cause as Error).name === 'TimeoutError')
      throw new Error(`${shown} did not answer within ${timeoutMs / 1000} s`, { cause })
    throw new Error(`${base} cannot be reached: ${fetchErrorReason(cause as Error)}`, { cause })
  }
}

/**
 * Whether the source closed the connection in the place of an answer, as a server does that closes an idle
 * connection at the moment when a request is sent on it. Requests to the source change nothing there, so they
 * can be sent again.
 */
export const isConnectionLost = ({ cause }: Error): boolean => {
  const { code } = ((cause as Error | undefined)?.cause ?? {}) as NodeJS.ErrnoException
  return code === 'ECONNRESET' || code === 'EPIPE' || code === 'UND_ERR_SOCKET'
}

const readBody = async ({ body }: Response, maxBytes: number): Promise<string> => {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body ?? []) {
    size += chunk.length
    // Leaving the loop closes the connection.
    if (size > maxBytes) throw new TooLargeError()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/**
 * Begins a download. It fails when no byte arrives for `timeoutMs`. The reader limits its size.
 * @returns the content, and `close`, which ends the download and must be called
 * @throws Error when the server cannot be reached
 */
export const openDownload = async (
  base: string,
  path: string,
  headers: Record<string, string>,
  { timeoutMs, fetch: send = fetch }: Pick<Limits, 'timeoutMs' | 'fetch'>,
): Promise<Pick<SourceResponse, 'status' | 'headers'> & { content: Readable; close(): void }> => {
  const url = urlOf(base, path)
  const silence = new AbortController()
  const abort = () => silence.abort(new Error(`${url} sent nothing for ${timeoutMs / 1000} s`))
  const timer = setTimeout(abort, timeoutMs)
  const response = await send(url, { headers, redirect: 'manual', signal: silence.signal }).catch((cause) => {
    clearTimeout(timer)
    throw new Error(`${url} cannot be reached: ${fetchErrorReason(cause as Error)}`, { cause })
  })
  async function* chunks() {
    for await (const chunk of response.body ?? []) {
      timer.refresh()
      yield chunk
    }
  }
  const content = Readable.from(chunks(), { objectMode: false })
  const close = () => {
    clearTimeout(timer)
    // Its reader has ended, and does not handle the error of the abort.
    content.on('error', () => undefined).destroy()
    // Otherwise the stream is closed only when the next chunk arrives.
    silence.abort()
  }
  // The content of an error is not read.
  if (response.status !== 200) close()
  return { status: response.status, headers: response.headers, content, close }
}

const PAGE_SIZE = 50

/**
 * The items of a list, page by page. The list always ends: a page that comes again after others is an error,
 * and so are more pages than a list may have.
 * @param readPage reads the page at a path
 * @param parse parses the items of a page
 */
export async function* readPages<T>(
  path: string,
  readPage: (path: string) => Promise<SourceResponse>,
  parse: (text: string) => T[],
  { maxPages }: Pick<Limits, 'maxPages'>,
): AsyncGenerator<T, void, undefined> {
  const separator = path.includes('?') ? '&' : '?'
  const pages = new Map<string, number>()
  for (let [page, received] = [1, 0]; page <= maxPages; page++) {
    const { text, headers } = await readPage(`${path}${separator}page=${page}&limit=${PAGE_SIZE}`)
    const items = parse(text)
    const digest = createHash('sha256').update(text).digest('base64')
    const earlier = items.length > 0 ? pages.get(digest) : undefined
    // A list without pages sends the same items for every page.
    if (earlier === page - 1) return
    if (earlier !== undefined)
      throw new Error(
        `the list ${path} of the source does not end: its page ${page} is page ${earlier} again`,
      )
    pages.set(digest, page)
    yield* items
    received += items.length
    const total = Number(headers.get('x-total-count') ?? Number.NaN)
    // The total can include items that this viewer cannot see, so an empty page may be followed by others.
    if (items.length === 0 && !(page * PAGE_SIZE < total)) return
    if (received >= total) return
  }
  throw new Error(`the list ${path} of the source does not end: it has more than ${maxPages} pages`)
}
