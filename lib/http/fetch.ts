import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { ReadableStream, type UnderlyingSource } from 'node:stream/web'
import type { Response as InjectedResponse } from 'light-my-request'
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
    const { pathname, search, host } = new URL(request.url)
    const payload = request.body === null ? undefined : Readable.fromWeb(request.body as ReadableStream)
    const options = {
      method: request.method as 'GET',
      url: pathname + search,
      headers: { host, ...bodyHeaders(request), ...Object.fromEntries(request.headers) },
      payloadAsStream: true,
      ...(typeof remoteAddress === 'string' ? { remoteAddress } : {}),
      ...(payload === undefined ? {} : { payload }),
    }
    const result = await new Promise<InjectedResponse>((resolve, reject) => {
      request.signal.addEventListener('abort', () => reject(request.signal.reason), { once: true })
      inject(withSocket(handler, request, payload), options, (error, response) =>
        error ? reject(error) : resolve(response!),
      )
    })
    const hasBody = request.method !== 'HEAD' && !NULL_BODY_STATUSES.includes(result.statusCode)
    return new Response(hasBody ? bodyOf(result.stream(), result.raw.res) : null, {
      status: result.statusCode,
      headers: headersOf(result.headers),
    })
  }

/** A body needs the headers that it has over HTTP: without them its content type would not be checked. */
const bodyHeaders = ({ body, headers }: Request): Record<string, string> =>
  body === null || headers.has('content-length') ? {} : { 'transfer-encoding': 'chunked' }

/**
 * A listener with the members of a socket that it uses. As with a socket, the request and the response end
 * together when the caller aborts, and when one of them is destroyed; only a complete response ends alone.
 */
const withSocket =
  (handler: Listener, { signal, url }: Request, payload: Readable | undefined): Listener =>
  (req, res) => {
    const destroy = () => {
      Object.assign(req.socket, { destroyed: true })
      for (const side of [payload, req, res]) side?.destroy()
    }
    Object.assign(req.socket, { destroy, destroyed: false, encrypted: url.startsWith('https:') })
    signal.addEventListener('abort', destroy, { once: true })
    req.once('close', destroy)
    res.once('close', () => res.writableEnded || destroy())
    handler(req, res)
  }

/**
 * Streams to the caller, who has the effect of a closed socket by canceling. Neither `Readable.toWeb` nor
 * `ReadableStream.from` does: the one throws outside of any promise after a body that is complete, the other
 * waits for the next chunk before it cancels. Node's web streams are those of `Response`, but their types are
 * incompatible.
 */
const bodyOf = (stream: Readable, response: ServerResponse): BodyInit => {
  const chunks = stream.iterator()
  const source: UnderlyingSource<Uint8Array> = {
    async pull(controller) {
      const { done, value } = await chunks.next()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    cancel() {
      stream.destroy()
      response.destroy()
    },
  }
  return new ReadableStream(source, { highWaterMark: 0 }) as unknown as BodyInit
}

/** Headers about the connection to the client. The host sets those of its own connection. */
const CONNECTION_HEADERS = ['connection', 'keep-alive', 'transfer-encoding', 'date']

const headersOf = (headers: NodeJS.Dict<number | string | string[]>): Headers => {
  const all = new Headers()
  for (const [name, value] of Object.entries(headers))
    for (const item of [value ?? []].flat()) all.append(name, String(item))
  for (const name of CONNECTION_HEADERS) all.delete(name)
  return all
}
