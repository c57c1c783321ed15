/** A response with its whole body. */
export interface Answer {
  status: number
  headers: Headers
  text: string
  /** The parsed body; undefined unless it is JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: each spec knows the shape that it expects
  body: any
}

export interface RequestOptions {
  token?: string
  /** Sent as JSON unless it is a string or bytes. */
  body?: unknown
  headers?: Record<string, string>
}

export type Send = (method: string, path: string, options?: RequestOptions) => Promise<Answer>

/** A server that does not answer in this time has lost the request. */
const REQUEST_MS = 60_000

/** Creates a function that sends requests to a server, and does not follow redirects. */
export const createSender =
  (api: string): Send =>
  async (method, path, { token, body, headers = {} } = {}) => {
    const sent = new Headers(headers)
    if (token !== undefined) sent.set('authorization', `token ${token}`)
    const raw = typeof body === 'string' || body instanceof Uint8Array
    if (body !== undefined && !raw && !sent.has('content-type')) sent.set('content-type', 'application/json')
    const answer = await fetch(api + path, {
      method,
      headers: sent,
      redirect: 'manual',
      signal: AbortSignal.timeout(REQUEST_MS),
      ...(body === undefined ? {} : { body: raw ? (body as string) : JSON.stringify(body) }),
    })
    const text = await answer.text()
    const isJson = answer.headers.get('content-type')?.startsWith('application/json') && text !== ''
    return {
      status: answer.status,
      headers: answer.headers,
      text,
      body: isJson ? JSON.parse(text) : undefined,
    }
  }
