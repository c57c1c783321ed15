import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { decompressedBody } from './body.ts'
import type { Endpoints, RequestContext } from './dispatcher.ts'
import { type Failure, retryAfterHeader } from './failure.ts'
import type { StreamReply } from './responses.ts'
import type { AccessRule, Identity, StreamRoute } from './route.ts'
import { Router } from './router.ts'
import { send, sendEmpty, TEXT_HEADERS } from './send.ts'

interface StreamEndpointsOptions<I extends Identity, S> {
  routes: readonly StreamRoute<I, S>[]
  services: S
  clientOf: (req: IncomingMessage, user: I | null) => string
  /** Authenticates requests with credentials of one route; undefined for others. */
  authenticate?: (request: StreamCredentials) => Promise<I> | undefined
}

/** What a request for a stream may be authenticated by. */
export interface StreamCredentials {
  readonly authorization: string | undefined
  /** Path of the route, such as `/{owner}/{repo}/info/refs`. */
  readonly path: string
  readonly params: Readonly<Record<string, string>>
}

type DeclaredRoute<I extends Identity, S> = StreamRoute<I, S> & AccessRule

type Context<I extends Identity, S> = RequestContext<I, DeclaredRoute<I, S>>

/** A reply, and what rejects when the body of the request breaks off. */
type PendingReply = StreamReply & { readonly brokenBody?: Promise<never> }

/** Git, LFS objects, packages and downloads: routes at the root of the service whose bodies are streams. */
export class StreamEndpoints<I extends Identity, S>
  implements Endpoints<I, DeclaredRoute<I, S>, PendingReply>
{
  readonly basePath = ''
  readonly router: Router<DeclaredRoute<I, S>>
  readonly getsOnlyRead = false
  readonly #options: StreamEndpointsOptions<I, S>

  constructor(options: StreamEndpointsOptions<I, S>) {
    this.#options = options
    const routes = options.routes.map((route): DeclaredRoute<I, S> => ({ ...route, auth: 'optional' }))
    const exactPaths = { ignoreExtraSlashes: false, maxParamLength: 255, headIsGet: false }
    this.router = new Router(routes, { ...exactPaths, wrongMethod: WRONG_METHOD })
  }

  authenticate({ req, route, params }: Context<I, S>): Promise<I> | undefined {
    const { authorization } = req.headers
    const { path } = route
    return this.#options.authenticate?.({ authorization, path, params: params as Record<string, string> })
  }

  async handle(context: Context<I, S>): Promise<PendingReply> {
    const { req, res, route, params, url, baseUrl, user = null } = context
    if (route === WRONG_METHOD) {
      const status = req.method === 'OPTIONS' ? 204 : 405
      return { status, headers: { Allow: `${params.allow}, OPTIONS` }, body: '' }
    }
    const { body, size } = decompressedBody(req, route)
    const brokenBody = new Promise<never>((_resolve, reject) => body.once('error', reject))
    // Not every request is still waiting for its body when that breaks off.
    brokenBody.catch(() => undefined)
    const disconnected = new AbortController()
    res.once('close', () => disconnected.abort())
    const request = {
      ...{ user, headers: req.headers, body, size, baseUrl },
      params: params as Record<string, string>,
      query: new URLSearchParams(url.search),
      client: () => this.#options.clientOf(req, user),
      signal: disconnected.signal,
    }
    const reply = await Promise.race([route.handle(request, this.#options.services), brokenBody])
    return { ...reply, brokenBody }
  }

  async send({ req, res, route }: Context<I, S>, reply: PendingReply): Promise<void> {
    if (route === WRONG_METHOD) sendEmpty(res, reply.status, Object.entries(reply.headers).flat())
    else if (req.method === 'HEAD') sendHead(res, reply)
    else await sendReply(res, reply)
  }

  hasLeft({ res }: Context<I, S>): boolean {
    return res.headersSent || res.destroyed
  }

  sendFailure({ req, res, route }: Context<I, S>, failure: Failure): void {
    const { status, message } = failure
    // The rest of a refused body is not read.
    if (!req.complete) res.shouldKeepAlive = false
    const headers = [...challenge(status), ...retryAfterHeader(failure)]
    const refusal = route.refusal?.(failure)
    if (refusal === undefined) return send(res, status, `${message}\n`, [...TEXT_HEADERS, ...headers])
    send(res, status, refusal.body, [...Object.entries(refusal.headers).flat(), ...headers])
  }
}

/** Stands for the route of a request for a known path with a method that the path does not take. */
const WRONG_METHOD: DeclaredRoute<never, never> = {
  method: 'GET',
  path: '',
  auth: 'none',
  handle: () => Promise.reject(new Error('this route is never called')),
}

/** The response to a GET without its body. */
const sendHead = (res: ServerResponse, { status, headers, body }: StreamReply): void => {
  if (typeof body !== 'string') body.destroy()
  res.writeHead(status, Object.entries(headers).flat()).end()
}

/** Sends the status with the first byte of the body: until then a failure can still get an error response. */
const sendReply = async (res: ServerResponse, reply: PendingReply): Promise<void> => {
  const { status, headers, body, completed, brokenBody } = reply
  completed?.catch(() => undefined)
  if (typeof body === 'string') return send(res, status, body, Object.entries(headers).flat())
  await Promise.race([firstByte(body), ...(brokenBody === undefined ? [] : [brokenBody])]).catch((error) => {
    body.destroy()
    throw error
  })
  res.writeHead(status, Object.entries(headers).flat())
  await pipeline(body, res, { end: false })
  await completed
  res.end()
}

/** Resolves at the first byte or at the end of a body. */
const firstByte = async (body: Readable): Promise<void> => {
  if (body.readableLength > 0 || body.readableEnded) return
  await new Promise<void>((resolve, reject) => {
    body.once('readable', resolve)
    body.once('error', reject)
  })
}

/** git asks its user for a name and a password only when a response carries a challenge. */
const challenge = (status: number): string[] =>
  status === 401 ? ['WWW-Authenticate', 'Basic realm="Allot", charset="UTF-8"'] : []
