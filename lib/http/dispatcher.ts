import type { IncomingMessage, ServerResponse } from 'node:http'
import type { CacheKey } from '../caches.ts'
import { AllotError } from '../errors.ts'
import { type AccessMessages, type AccessRule, checkAccess, type Identity } from './access.ts'
import { inPipelineOrder, smugglingFault, trackInFlight } from './connection.ts'
import {
  baseUrlOf,
  type FindMoved,
  movedPath,
  movedStatus,
  parseRequestUrl,
  type RequestUrl,
} from './request-url.ts'
import type { Match, Routed } from './router.ts'
import { sendEmpty } from './send.ts'

/**
 * The request pipeline. Every request of the API, of git and of the pages takes the same way: match a route, authenticate,
 * check access, read the input and call the handler, send the reply. What differs between JSON, streams and pages is in
 * three implementations of {@link Endpoints}.
 */

/** A request on its way through the pipeline. */
export interface RequestContext<I = unknown, R = unknown> {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  readonly url: RequestUrl
  readonly route: R
  readonly params: Match<R>['params']
  /** URL of the service as this client reaches it, without a slash at the end. */
  baseUrl: string
  /** Undefined until the request is authenticated, and for routes that need no authentication. */
  user: I | null | undefined
}

/** Routes of one kind: how their requests are matched and authenticated, and how their replies and failures are sent. */
export interface Endpoints<
  I = unknown,
  R extends Routed & AccessRule = Routed & AccessRule,
  Reply extends object = object,
> {
  /** Such as `/api/v1`; requests with other paths are not matched. */
  readonly basePath: string
  /** Messages of 401 and 403; those of the API when absent. */
  readonly accessMessages?: AccessMessages
  /** Whether handlers of GET only read records, so that all their reads may share one snapshot. */
  readonly readsAreShared: boolean
  /** @returns undefined for a path that does not belong to these endpoints */
  match(method: string, path: string): Match<R> | undefined
  /** @throws AllotError unauthenticated for wrong credentials */
  authenticate(context: RequestContext<I, R>): Promise<I | null>
  /** Cache key of the reply to a GET; undefined when the reply depends on more than the request and records. */
  cacheKey?(context: RequestContext<I, R>): CacheKey | undefined
  /** Reads and validates the input, and calls the handler of the route. */
  handle(context: RequestContext<I, R>): Promise<Reply>
  send(context: RequestContext<I, R>, reply: Reply): Promise<void>
  /** Sends the response to a request that failed. It must not throw. */
  fail(context: RequestContext<I, R>, error: unknown): void
}

export type Next = (error?: unknown) => void

interface DispatcherOptions<I extends Identity> {
  /** In order of precedence: the first that matches handles the request. */
  endpoints: readonly Endpoints<I>[]
  /** URL of the service, when it does not follow from the Host header. */
  baseUrl: string | undefined
  /** Origins whose pages may read the responses; CORS is off when absent or empty. */
  corsOrigins?: readonly string[]
  /** Runs a function that only reads in one snapshot; may run it again, or return a result cached under the key. */
  readTogether: <T>(read: () => Promise<T>, key?: CacheKey) => Promise<T>
  /** Whether requests are authenticated outside of the snapshot: the host's own login may create an account. */
  authenticateFirst: boolean
  /** Finds the new place of a repository that was renamed or transferred. */
  findMoved?: FindMoved<I>
  /** Handles requests that no endpoints match. */
  unmatched: (req: IncomingMessage, res: ServerResponse, next: Next | undefined) => void
}

export interface Dispatcher {
  /** A node:http listener that also fits Express and Connect. It never throws and leaves no response open. */
  readonly handler: (req: IncomingMessage, res: ServerResponse, next?: Next) => void
  /** Resolves when all responses in flight have ended. */
  idle(): Promise<void>
}

/** Takes requests of all {@link Endpoints} through the pipeline. */
class RequestPipeline<I extends Identity> implements Dispatcher {
  readonly #options: DispatcherOptions<I>
  readonly #inFlight = trackInFlight()

  constructor(options: DispatcherOptions<I>) {
    this.#options = options
  }

  readonly handler: Dispatcher['handler'] = (req, res, next) => {
    const { endpoints: all, baseUrl = '', unmatched } = this.#options
    for (const endpoints of all) {
      const url = parseRequestUrl(req, endpoints.basePath)
      const match = url && endpoints.match(req.method ?? 'GET', url.path)
      if (match === undefined) continue
      const context = { req, res, url: url!, ...match, baseUrl, user: undefined }
      return inPipelineOrder(req, res, () => this.#begin(endpoints, context))
    }
    unmatched(req, res, next)
  }

  idle(): Promise<void> {
    return this.#inFlight.idle()
  }

  #begin(endpoints: Endpoints<I>, context: Context<I>): void {
    const { corsOrigins = [] } = this.#options
    const { req, res } = context
    this.#inFlight.begin(res)
    if (corsOrigins.length > 0 && allowOrigin(req, res, corsOrigins)) return
    const fault = smugglingFault(req)
    if (fault === undefined) return void this.#serve(endpoints, context)
    // Nothing else on this connection can be trusted.
    res.shouldKeepAlive = false
    // node:http may be about to respond to the same request with an error of its own.
    setImmediate(() => endpoints.fail(context, fault))
  }

  async #serve(endpoints: Endpoints<I>, context: Context<I>): Promise<void> {
    try {
      if (this.#options.baseUrl === undefined) context.baseUrl = baseUrlOf(context.req, context.url.mount)
      const reply = await this.#replyTo(endpoints, context)
      if (isMissing(reply) && (await this.#redirect(endpoints, context))) return
      await endpoints.send(context, reply)
    } catch (error) {
      await this.#fail(endpoints, context, error)
    }
  }

  #replyTo(endpoints: Endpoints<I>, context: Context<I>): Promise<object> {
    const { readTogether, authenticateFirst } = this.#options
    const { route } = context
    const handle = () => endpoints.handle(context)
    const authenticateAndThen = async (next: () => Promise<object>): Promise<object> => {
      const user = await endpoints.authenticate(context)
      context.user = user
      checkAccess(user, route, endpoints.accessMessages)
      return next()
    }
    if (route.auth === 'none') return handle()
    if (route.method !== 'GET' || !endpoints.readsAreShared) return authenticateAndThen(handle)
    if (authenticateFirst) return authenticateAndThen(() => readTogether(handle))
    return readTogether(() => authenticateAndThen(handle), endpoints.cacheKey?.(context))
  }

  /** Sends the client to the new path of a repository that has moved. @returns whether it has */
  async #redirect({ basePath }: Endpoints<I>, context: Context<I>): Promise<boolean> {
    const { findMoved } = this.#options
    const { req, res, route, url, baseUrl, user } = context
    if (findMoved === undefined || user === undefined || res.headersSent) return false
    const path = await movedPath(findMoved, user, route.path, url.path)
    if (path === undefined) return false
    const search = url.search === '' ? '' : `?${url.search}`
    sendEmpty(res, movedStatus(req.method), ['Location', baseUrl + basePath + path + search])
    return true
  }

  async #fail(endpoints: Endpoints<I>, context: Context<I>, error: unknown): Promise<void> {
    try {
      if (isNotFound(error) && (await this.#redirect(endpoints, context))) return
      endpoints.fail(context, error)
    } catch (failure) {
      endpoints.fail(context, failure)
    }
  }
}

export const createDispatcher = <I extends Identity>(options: DispatcherOptions<I>): Dispatcher =>
  new RequestPipeline(options)

type Context<I> = RequestContext<I, Routed & AccessRule>

const isMissing = (reply: { status?: number }): boolean => reply.status === 404

const isNotFound = (error: unknown): boolean => error instanceof AllotError && error.code === 'not_found'

/** Seconds for which browsers cache the response to a preflight. */
const MAX_AGE = '600'

/**
 * Adds the CORS headers that let pages of these origins (`*`: of every origin) read the response. Cookies are never allowed:
 * a page must send its credentials in the Authorization header.
 * @returns whether the request was a preflight, which has its response then
 */
export const allowOrigin = (
  req: IncomingMessage,
  res: ServerResponse,
  origins: readonly string[],
): boolean => {
  const { origin } = req.headers
  const any = origins.includes('*')
  if (!any) res.setHeader('Vary', 'Origin')
  if (origin === undefined || !(any || origins.includes(origin))) return false
  res.setHeader('Access-Control-Allow-Origin', any ? '*' : origin)
  const method = req.headers['access-control-request-method']
  if (req.method !== 'OPTIONS' || method === undefined) return false
  const headers = req.headers['access-control-request-headers']
  sendEmpty(res, 204, [
    'Access-Control-Allow-Methods',
    'GET, HEAD, POST, PUT, PATCH, DELETE',
    ...(headers === undefined ? [] : ['Access-Control-Allow-Headers', headers]),
    'Access-Control-Max-Age',
    MAX_AGE,
  ])
  return true
}
