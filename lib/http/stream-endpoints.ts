import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { AccessRule, Identity } from './access.ts'
import { decompressedBody } from './body.ts'
import type { Endpoints, RequestContext } from './dispatcher.ts'
import { failedRequest, type Log, retryAfterHeader, toFailure } from './failure.ts'
import type { StreamReply, StreamRoute } from './route.ts'
import { createRouter, type Match, type Router } from './router.ts'
import { sendEmpty, sendText, sendWithHeaders } from './send.ts'

interface StreamEndpointsOptions<I extends Identity, S> {
  routes: readonly StreamRoute<I, S>[]
  services: S
  /** @throws AllotError unauthenticated for wrong credentials */
  authenticate: (req: IncomingMessage) => Promise<I | null>
  clientOf: (req: IncomingMessage, user: I | null) => string
  log: Log
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
  readonly readsAreShared = false
  readonly #options: StreamEndpointsOptions<I, S>
  readonly #router: Router<DeclaredRoute<I, S>>

  constructor(options: StreamEndpointsOptions<I, S>) {
    this.#options = options
    const routes = options.routes.map((route): DeclaredRoute<I, S> => ({ ...route, auth: 'optional' }))
    this.#router = createRouter(routes, { ignoreExtraSlashes: false, maxParamLength: 255, headIsGet: false })
  }

  match(method: string, path: string): Match<DeclaredRoute<I, S>> | undefined {
    const match = this.#router.find(method, path)
    if (typeof match === 'object') return match
    const allowed = this.#router.allowed(path)
    if (allowed === 'malformed' || allowed.length === 0) return undefined
    return { route: WRONG_METHOD, params: { allow: [...allowed, 'OPTIONS'].join(', ') } }
  }

  authenticate({ req }: Context<I, S>): Promise<I | null> {
    return this.#options.authenticate(req)
  }

  async handle(context: Context<I, S>): Promise<PendingReply> {
    const { req, res, route, params, url, baseUrl, user = null } = context
    if (route === WRONG_METHOD)
      return { status: req.method === 'OPTIONS' ? 204 : 405, headers: { Allow: params.allow! }, body: '' }
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
      client: this.#options.clientOf(req, user),
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

  fail({ req, res, route, url }: Context<I, S>, error: unknown): void {
    if (res.headersSent || res.destroyed) return void res.destroy()
    try {
      const failure = toFailure(error, this.#options.log, failedRequest(req, res, url.path))
      // The rest of a refused body is not read.
      if (!req.complete) res.shouldKeepAlive = false
      const headers = [...challenge(failure.status), ...retryAfterHeader(failure)]
      const refusal = route.refusal?.(failure)
      if (refusal === undefined) return sendText(res, failure.status, `${failure.message}\n`, headers)
      const own = Object.entries(refusal.headers).flat()
      sendWithHeaders(res, failure.status, refusal.body, [...own, ...headers])
    } catch {
      // The host's log threw. The client must not wait for ever.
      res.destroy()
    }
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
  if (typeof body === 'string') return sendWithHeaders(res, status, body, Object.entries(headers).flat())
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
