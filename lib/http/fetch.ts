import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { ReadableStream } from 'node:stream/web'
import { checkArgument, isObject } from '../errors.ts'
import { bodyWasRead } from './body/bytes.ts'
import type { Listener, MountOptions } from './mount.ts'

/** Facts that a `Request` does not have: where the host serves Allot, and where the request comes from. */
export interface FetchOptions extends MountOptions {
  /**
   * IP address of the client. Failed logins are limited by it; hashing, git, large bodies and other scarce
   * resources are shared by it among clients without an account; sessions of the pages show it. When absent,
   * all clients have one address.
   */
  remoteAddress?: string | undefined
}

/** Statuses with which `new Response` rejects a body. */
const NULL_BODY_STATUSES = [204, 205, 304]

/**
 * Turns node:http listeners into a `fetch` handler, for hosts without node:http. No socket is involved;
 * bodies are streams in both directions.
 */
export const fetchOf =
  (listenerFor: (mount: MountOptions) => Listener) =>
  // Frameworks pass a second argument of their own to a handler, so other members are ignored.
  async (request: Request, { prefix, pages, remoteAddress }: FetchOptions = {}): Promise<Response> => {
    checkArgument(
      isObject(request),
      'request',
      "a Request, such as new Request('http://localhost/')",
      request,
    )
    const handler = listenerFor({ prefix, pages })
    if (request.bodyUsed) throw bodyWasRead()
    // Loaded when it is used: hosts with node:http do not need it.
    const { inject } = await import('light-my-request')
    request.signal.throwIfAborted()
    const { pathname, search, protocol, host } = new URL(request.url)
    let response: ServerResponse | undefined
    const responding = inject(
      (req, res) => {
        response = res as ServerResponse
        // The members of a socket that listeners use.
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
    const aborted = rejectOnAbort(request.signal, () => response?.destroy())
    const result = await Promise.race([responding, aborted])
    const hasBody = request.method !== 'HEAD' && !NULL_BODY_STATUSES.includes(result.statusCode)
    return new Response(hasBody ? bodyOf(destroyWith(result.stream(), response!)) : null, {
      status: result.statusCode,
      headers: headersOf(result.headers),
    })
  }

/**
 * `Readable.toWeb` can throw outside of any promise when the body is canceled. Node's web streams are those
 * of `Response`, but their types are incompatible.
 */
const bodyOf = (stream: Readable): BodyInit => ReadableStream.from(stream) as unknown as BodyInit

/** An abort of the request has the effect of a closed socket. */
const rejectOnAbort = (signal: AbortSignal, onAbort: () => void): Promise<never> =>
  new Promise((_, reject) => {
    const abort = () => {
      onAbort()
      reject(signal.reason)
    }
    signal.addEventListener('abort', abort, { once: true })
  })

/** Canceling the body of the response has the effect of a closed socket. */
const destroyWith = (stream: Readable, response: ServerResponse): Readable =>
  stream.once('close', () => response.destroy())

/** Headers about the connection to the client. The host sets those of its own connection. */
const CONNECTION_HEADERS = ['connection', 'keep-alive', 'transfer-encoding', 'date']

const headersOf = (headers: NodeJS.Dict<number | string | string[]>): Headers => {
  const all = new Headers()
  for (const [name, value] of Object.entries(headers))
    for (const item of [value ?? []].flat()) all.append(name, String(item))
  for (const name of CONNECTION_HEADERS) all.delete(name)
  return all
}
