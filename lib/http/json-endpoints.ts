import type { IncomingMessage } from 'node:http'
import { type CacheKey, cacheKey } from '../caches.ts'
import { AllotError } from '../errors.ts'
import type { Identity } from './access.ts'
import { readBody } from './body.ts'
import type { Endpoints, RequestContext } from './dispatcher.ts'
import { ClientDisconnected, failedRequest, type Log, retryAfterHeader, toFailure } from './failure.ts'
import { REFERENCE_PATH } from './openapi.ts'
import { type PageLimits, type PageRequest, pageHeaders, pageRequest } from './paging.ts'
import { Html, Ndjson, type Produce, type Reply, serializeReply } from './responses.ts'
import type { Route, RouteRequest } from './route.ts'
import { createRouter, type Match, type Router } from './router.ts'
import { sendEmpty, sendHtml, sendJson, sendStream, sendWithETag } from './send.ts'
import { type Coercion, coerce, coercionOf, pathParams } from './validate.ts'

interface JsonEndpointsOptions<I extends Identity, S> {
  routes: readonly Route<I, S>[]
  services: S
  /** @throws AllotError unauthenticated for wrong credentials */
  authenticate: (req: IncomingMessage) => Promise<I | null>
  /** Identifies the credentials of a request in cache keys; undefined when the request cannot be cached. */
  credentialsKey?: ((req: IncomingMessage) => string | undefined) | undefined
  clientOf: (req: IncomingMessage, user: I | null) => string
  /** Such as `/api/v1`. */
  basePath: string
  /** Whether the response to 404 has a `{message,url}` body. */
  notFoundBody: boolean
  /** Bytes of a body, for routes that do not declare a limit. */
  bodyLimit: number
  pageLimits: PageLimits
  log: Log
}

/** A reply with the headers of its page. */
interface JsonReply extends Reply {
  readonly headers?: string[]
}

/** A route with the coercions of its parameters, which are derived from its schemas once. */
interface PreparedRoute<I extends Identity, S> extends Route<I, S> {
  readonly paramsCoercion: Coercion | undefined
  readonly queryCoercion: Coercion | undefined
}

type Context<I extends Identity, S> = RequestContext<I, PreparedRoute<I, S>>

/** The JSON API: all paths below the base path, known or not. */
export class JsonEndpoints<I extends Identity, S> implements Endpoints<I, PreparedRoute<I, S>, JsonReply> {
  readonly basePath: string
  readonly readsAreShared = true
  readonly #options: JsonEndpointsOptions<I, S>
  readonly #router: Router<PreparedRoute<I, S>>
  readonly #unmatched = { route: prepared(unmatchedRoute<I, S>()), params: {} }

  constructor(options: JsonEndpointsOptions<I, S>) {
    this.basePath = options.basePath
    this.#options = options
    this.#router = createRouter(options.routes.map(prepared))
  }

  match(method: string, path: string): Match<PreparedRoute<I, S>> {
    const match = this.#router.find(method, path)
    return typeof match === 'object' ? match : this.#unmatched
  }

  authenticate({ req }: Context<I, S>): Promise<I | null> {
    return this.#options.authenticate(req)
  }

  cacheKey({ req, route, url, baseUrl }: Context<I, S>): CacheKey | undefined {
    const credentials = route.cacheable ? this.#options.credentialsKey?.(req) : undefined
    if (credentials === undefined) return undefined
    return cacheKey('reply', { credentials, baseUrl, path: url.path, search: url.search })
  }

  async handle(context: Context<I, S>): Promise<JsonReply> {
    const { req, route, url } = context
    const { services, bodyLimit } = this.#options
    if (route === this.#unmatched.route) return this.#replyUnmatched(context)
    const request = new JsonRequest(context, this.#options)
    if (route.body !== undefined) {
      if (route.exists !== undefined && !(await route.exists(request.params, services))) throw notFound()
      request.body = await readBody(req, route, bodyLimit)
    }
    const reply = await route.handle(request, services)
    const { page, apiUrl, members, query } = request
    if (page === undefined || reply.total === undefined)
      return route.cacheable ? serializeReply(reply) : reply
    const headers = pageHeaders(page, reply.total, apiUrl + url.path, members!, query)
    return { ...reply, headers }
  }

  /** Replies to a request that no route takes: with 400, 404, 405, or 204 for OPTIONS. */
  #replyUnmatched({ req, url, baseUrl }: Context<I, S>): JsonReply {
    const methods = this.#router.allowed(url.path)
    if (methods === 'malformed') throw new AllotError('bad_request', 'the path is not well encoded')
    if (methods.length === 0) throw notFound()
    const allowed = [...methods, 'OPTIONS'].join(', ')
    const headers = ['Allow', allowed]
    if (req.method === 'OPTIONS') return { status: 204, body: undefined, headers }
    const message = `this path takes ${allowed}, not ${req.method}`
    return { status: 405, body: { message, url: baseUrl + REFERENCE_PATH }, headers }
  }

  async send(context: Context<I, S>, { status, body, headers }: JsonReply): Promise<void> {
    const { req, res, route } = context
    if (status === 404) return this.#sendNotFound(context, "The target couldn't be found.")
    if (body === undefined) return sendEmpty(res, status, headers)
    const kind = route.responses[status]
    if (kind === Html) return sendHtml(res, status, body as string)
    if (kind === Ndjson) return sendStream(req, res, status, body as Produce)
    if (route.method === 'GET' && status < 300) sendWithETag(req, res, status, body, headers)
    else sendJson(res, status, body, headers)
  }

  fail(context: Context<I, S>, error: unknown): void {
    const { req, res, route, url, baseUrl } = context
    if (error instanceof ClientDisconnected) return void res.destroy()
    try {
      const request = failedRequest(req, res, url.path)
      const failure = toFailure(withDeclaredStatus(context, error), this.#options.log, request)
      const { status, message } = failure
      // A response that has begun cannot be taken back; cutting it off tells the client that it is incomplete.
      if (res.headersSent) return void res.destroy()
      if (status === 404) return this.#sendNotFound(context, message)
      const body = errorBody(status, route.failure?.(message), { message, url: baseUrl + REFERENCE_PATH })
      sendJson(res, status, body, retryAfterHeader(failure))
    } catch {
      // The host's log threw. The client must not wait for ever.
      res.destroy()
    }
  }

  #sendNotFound({ res, baseUrl }: Context<I, S>, message: string): void {
    if (this.#options.notFoundBody) sendJson(res, 404, { message, url: baseUrl + REFERENCE_PATH })
    else sendEmpty(res, 404)
  }
}

class JsonRequest<I extends Identity> implements RouteRequest<I> {
  readonly #req: IncomingMessage
  readonly #clientOf: (req: IncomingMessage, user: I | null) => string
  readonly user: I | null
  readonly params: unknown
  readonly query: unknown
  readonly page: PageRequest | undefined
  readonly baseUrl: string
  readonly apiUrl: string
  /** Members of the query string; undefined when the route reads none. */
  readonly members: URLSearchParams | undefined
  body: unknown

  constructor(
    context: Context<I, never>,
    options: Omit<JsonEndpointsOptions<I, never>, 'services' | 'routes'>,
  ) {
    const { req, params, url, baseUrl, user = null } = context
    const { paramsCoercion, queryCoercion, paging } = context.route
    const members = queryCoercion || paging ? new URLSearchParams(url.search) : undefined
    this.#req = req
    this.#clientOf = options.clientOf
    this.user = user
    this.params = paramsCoercion ? pathParams(paramsCoercion, params) : params
    this.query = queryCoercion && coerce(queryCoercion, (name) => members!.get(name))
    this.page = paging && pageRequest(members!, paging, options.pageLimits)
    this.baseUrl = baseUrl
    this.apiUrl = baseUrl + options.basePath
    this.members = members
  }

  /** Computed on demand: few handlers use it, and parsing an address takes time. */
  get client(): string {
    return this.#clientOf(this.#req, this.user)
  }
}

/** Stands for the route of requests that no route takes. They are authenticated, since wrong credentials get 401 everywhere. */
const unmatchedRoute = <I extends Identity, S>(): Route<I, S> => ({
  method: 'GET',
  path: '',
  operationId: '',
  tag: '',
  summary: '',
  auth: 'optional',
  responses: {},
  handle: () => Promise.reject(notFound()),
})

const prepared = <I extends Identity, S>(route: Route<I, S>): PreparedRoute<I, S> => ({
  ...route,
  paramsCoercion: route.params && coercionOf(route.params),
  queryCoercion: route.query && coercionOf(route.query),
})

const notFound = () => new AllotError('not_found', 'there is nothing at this path')

/**
 * When a route of signed-in users declares no 404, `not_found` can only mean that the account was deleted during the request:
 * then the response is 401.
 */
const withDeclaredStatus = (
  { route, user }: RequestContext<Identity, Pick<Route, 'auth' | 'responses'>>,
  error: unknown,
): unknown => {
  if (user === undefined || route.auth === 'optional' || 404 in route.responses) return error
  const isMissing = error instanceof AllotError && error.code === 'not_found'
  return isMissing ? new AllotError('unauthenticated', error.message, { cause: error }) : error
}

/** Failures of the server have the route's own members only. */
const errorBody = (status: number, own: object | undefined, usual: object): object => {
  if (own === undefined) return usual
  return status >= 500 ? own : { ...own, ...usual }
}
