import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'

type Listener = (req: IncomingMessage, res: ServerResponse) => void

/** What a request does not say of itself. */
export interface FetchOptions {
  /** Where it comes from, for the limits on failed logins. */
  remoteAddress?: string | undefined
}

/** Answers without a body, for which a Response takes none. */
const BODILESS = [204, 205, 304]

/**
 * The same listener for hosts that speak in requests and responses: nothing goes through a socket. Bodies are streams
 * both ways.
 */
export const fetchOf =
  (handler: Listener) =>
  async (request: Request, { remoteAddress }: FetchOptions = {}): Promise<Response> => {
    // A host that has sockets does without it.
    const { inject } = await import('light-my-request')
    request.signal.throwIfAborted()
    const { pathname, search, protocol, host } = new URL(request.url)
    let response: ServerResponse | undefined
    const answering = inject(
      (req, res) => {
        response = res as ServerResponse
        // The little of a socket that a listener may ask of one.
        const destroy = () => res.destroy()
        Object.assign(req.socket, { destroy, destroyed: false, encrypted: protocol === 'https:' })
        handler(req, res as ServerResponse)
      },
      {
        method: request.method as 'GET',
        url: pathname + search,
        headers: { host, ...Object.fromEntries(request.headers) },
        payloadAsStream: true,
        ...(typeof remoteAddress === 'string' ? { remoteAddress } : {}),
        ...(request.body === null ? {} : { payload: Readable.fromWeb(request.body as ReadableStream) }),
      },
    )
    const givenUp = abortOf(request.signal, () => response?.destroy())
    const answer = await Promise.race([answering, givenUp])
    const hasBody = request.method !== 'HEAD' && !BODILESS.includes(answer.statusCode)
    return new Response(hasBody ? bodyOf(endingWith(answer.stream(), response!)) : null, {
      status: answer.statusCode,
      headers: headersOf(answer.headers),
    })
  }

/** The streams of Node are those of the Web; the types of the two say each of the other that it is not. */
const bodyOf = (stream: Readable): BodyInit => Readable.toWeb(stream) as unknown as BodyInit

/** A caller who gives up is gone, as if a socket had been closed. */
const abortOf = (signal: AbortSignal, leave: () => void): Promise<never> =>
  new Promise((_, reject) => {
    const abort = () => {
      leave()
      reject(signal.reason)
    }
    signal.addEventListener('abort', abort, { once: true })
  })

/** Whoever reads an answer no further is gone, as if a socket had been closed. */
const endingWith = (stream: Readable, response: ServerResponse): Readable =>
  stream.once('close', () => response.destroy())

const headersOf = (headers: NodeJS.Dict<number | string | string[]>): Headers => {
  const all = new Headers()
  for (const [name, value] of Object.entries(headers))
    for (const one of [value ?? []].flat()) all.append(name, String(one))
  return all
}
