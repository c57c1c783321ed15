/** An answer, read to its end. */
export interface Answer {
  status: number
  headers: Headers
  text: string
  /** The body as JSON; undefined when there is none. */
  // biome-ignore lint/suspicious/noExplicitAny: an answer can be anything, and a spec says what it expects of it
  body: any
}

export interface RequestOptions {
  token?: string
  /** Sent as JSON when it is no string or bytes. */
  body?: unknown
  headers?: Record<string, string>
}

export type Send = (method: string, path: string, options?: RequestOptions) => Promise<Answer>

/** Asks a server over a socket. */
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
