import type { IncomingMessage } from 'node:http'
import { type AccessMessages, type AccessRule, API_MESSAGES, type Caller } from './access.ts'
import { decompressedBody } from './body/read-body.ts'
import type { Endpoints, RequestContext } from './dispatcher.ts'
import { ClientDisconnected, type Failure, retryAfterHeader } from './failure.ts'
import type { RequestUrl } from './request-url.ts'
import type { Sendable } from './responses.ts'
import type { StreamRoute } from './route.ts'
import { type NoMatch, Router } from './router.ts'
import { headersOf, PRIVATE, TEXT_HEADERS } from './send.ts'

interface StreamEndpointsOptions<I extends Caller, S> {
  routes: readonly StreamRoute<I, S>[]
  /** `required` when clients must sign in for each of them. */
  auth: 'optional' | 'required'
  services: S
  /** Message of a 401 for a client without credentials. */
  signInMessage: string
  /** Name of the service, which clients show when they ask for a password. */
  realm: string
  /** Authenticates requests with credentials of one route; undefined for others. */
  authenticate?: (request: StreamCredentials) => Promise<I> | undefined
}

/** Credentials of a request for a stream, and the route that they are for. */
export interface StreamCredentials {
  readonly authorization: string | undefined
  /** Path of the route, such as `/{owner}/{repo}/info/refs`. */
  readonly path: string
  readonly params: Readonly<Record<string, string>>
}

type DeclaredRoute<I extends Caller, S> = Omit<StreamRoute<I, S>, 'auth'> & AccessRule

type Context<I extends Caller, S> = RequestContext<I, DeclaredRoute<I, S>>

/** Git, LFS objects, packages and downloads: routes at the root of the service whose bodies are streams. */
export class StreamEndpoints<I extends Caller, S> implements Endpoints<I, DeclaredRoute<I, S>> {
  readonly basePath = ''
  readonly router: Router<DeclaredRoute<I, S>>
  readonly accessMessages: AccessMessages
  readonly otherwise = { auth: 'none' } as const
  readonly #options: StreamEndpointsOptions<I, S>

  constructor(options: StreamEndpointsOptions<I, S>) {
    this.#options = options
    this.accessMessages = { ...API_MESSAGES, unauthenticated: options.signInMessage }
    const { auth } = options
    const routes = options.routes.map((route): DeclaredRoute<I, S> => ({ auth, ...route }))
    this.router = new Router(routes, { ignoreExtraSlashes: false, maxParamLength: 255 })
  }

  takes(_req: IncomingMessage, _url: RequestUrl, { allow }: NoMatch): boolean {
    return Boolean(allow)
  }

  authenticate({ req, route, params }: Context<I, S>): Promise<I> | undefined {
    const { authorization } = req.headers
    const { path } = route!
    return this.#options.authenticate?.({ authorization, path, params: params as Record<string, string> })
  }

  async answer(context: Context<I, S>): Promise<Sendable> {
    const { req, res, route, params, url, baseUrl, user = null, rights, client, turns } = context
    if (route === undefined) {
      const status = req.method === 'OPTIONS' ? 204 : 405
      return { status, headers: [...PRIVATE, 'Allow', `${context.allow}, OPTIONS`] }
    }
    const { body, size } = decompressedBody(req, route)
    const signal = context.signal()
    const brokenBody = new Promise<never>((_resolve, reject) => {
      body.once('error', reject)
      // A response that has begun is cut off, which tells the client that it is incomplete.
      rights.watch(signal, (error) => (res.headersSent ? void res.destroy() : reject(error)))
    })
    // The body can fail after the handler has ended, when nothing else awaits this promise.
    brokenBody.catch(() => undefined)
    const request = {
      user,
      headers: headersOf(req),
      body,
      size,
      baseUrl,
      params: params as Record<string, string>,
      query: new URLSearchParams(url.search),
      client,
      inTurn: <T>(bytes: number, make: () => T | Promise<T>) => turns.parse(bytes, context, make),
      signal,
      whileAllowed: rights.whileAllowed,
    }
    try {
      const reply = await Promise.race([route.handle(request, this.#options.services), brokenBody])
      return { ...reply, brokenBody }
    } catch (error) {
      throw signal.aborted ? new ClientDisconnected('the client disconnected') : error
    }
  }

  failure({ req, res, route }: Context<I, S>, failure: Failure): Sendable {
    const { status, message } = failure
    // The rest of a refused body is only discarded, for a short time, so the connection is closed.
    if (!req.complete) res.shouldKeepAlive = false
    // git asks its user for a name and a password only when a response carries a challenge.
    const challenge = status === 401 ? challengeOf(this.#options.realm) : undefined
    const headers = Object.entries({
      ...(challenge && { 'WWW-Authenticate': challenge }),
      ...retryAfterHeader(failure),
    }).flat()
    const refusal = route?.refusal?.(failure, challenge)
    if (refusal === undefined) return { status, headers: [...TEXT_HEADERS, ...headers], body: `${message}\n` }
    return { status, headers: [...Object.entries(refusal.headers).flat(), ...headers], body: refusal.body }
  }
}

/** A realm is ASCII (RFC 7617 has no other): letters lose their accents, and others are left out. */
const challengeOf = (realm: string): string => {
  const name =
    realm
      .normalize('NFKD')
      .replace(/[^ -~]/g, '')
      .trim() || 'code'
  return `Basic realm="${name.replace(/["\\]/g, '\\$&')}", charset="UTF-8"`
}
