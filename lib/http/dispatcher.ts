import type { IncomingMessage, ServerResponse } from 'node:http'
import { AllotError } from '../errors.ts'
import { readBody } from './body.ts'
import { trackInFlight } from './connection/in-flight.ts'
import { inPipelineOrder } from './connection/pipelining.ts'
import { smugglingFault } from './connection/smuggling-guard.ts'
import { allowOrigin } from './cors.ts'
import { createErrorResponses, type Log } from './error-response.ts'
import { type FindMoved, movedPath, movedStatus } from './redirect.ts'
import { sendStream } from './ndjson.ts'
import { type PageLimits, pageHeaders, pageRequest } from './paging.ts'
import { serveReference } from './reference-page.ts'
import { baseUrlOf, mountOf, parseRequestUrl, type RequestUrl } from './request-url.ts'
import { Html, Ndjson, type Produce, type Reply, serializeReply } from './responses.ts'
import type { Identity, RequestContext, Route, RouteRequest } from './route.ts'
import { createRouter, type Match } from './router.ts'
import { checkIdentity, checkScopes } from './access.ts'
import { sendEmpty, sendHtml, sendJson, sendWithETag } from './send.ts'
import { cacheKeyOf, type SharedReads } from './shared-reads.ts'
import { coerce, pathParams } from './validate.ts'

export interface DispatcherOptions<I extends Identity, S> {
  routes: readonly Route<I, S>[]
  services: S
  /** @throws AllotError unauthenticated for credentials that are sent and are wrong. */
  authenticate: (req: IncomingMessage) => I | null | Promise<I | null>
  /** The client whose budgets the request counts against. */
  clientOf: (req: IncomingMessage, user: I | null) => string
  /** Where repositories that have moved are now. */
  moved?: FindMoved<I> | undefined
  /** Where the data is far away: what a GET reads is read together. */
  together?: SharedReads | undefined
  /** Such as `/api/v1`. */
  basePath: string
  /** Where the service is, when the Host header does not tell. */
  baseUrl: string | undefined
  /** Origins whose pages may read the answers; none: CORS is off. */
  corsOrigins: readonly string[]
  /** Whether 404 has a `{message,url}` body. */
  notFoundBody: boolean
  /** Bytes that the body of a request may have, where its route does not say otherwise. */
  bodyLimit: number
  pageLimits: PageLimits
  log: Log
  /** What is served beside the API: answers what it knows, and says false for the rest. */
  fallback?: (req: IncomingMessage, res: ServerResponse) => boolean
}

export type Next = (error?: unknown) => void

export interface Dispatcher {
  /** A node:http listener that also fits Express and Connect. It never throws and leaves no response open. */
  handler: (req: IncomingMessage, res: ServerResponse, next?: Next) => void
  /** Resolves when nothing is in flight. */
  idle(): Promise<void>
}

/** What the URL of a request asks for. */
interface Asked extends Pick<RouteRequest, 'params' | 'query' | 'page'> {
  /** All members of the query, as text; undefined where the route reads none. */
  readonly members: URLSearchParams | undefined
}

export const createDispatcher = <I extends Identity, S>(options: DispatcherOptions<I, S>): Dispatcher => {
  const { services, authenticate, clientOf, together, basePath, corsOrigins } = options
  const router = createRouter(options.routes)
  const flights = trackInFlight()
  const { fail, malformed, notFound, refuseConnection, unmatched } = createErrorResponses(options, router)

  const handler = (req: IncomingMessage, res: ServerResponse, next?: Next): void => {
    const location = parseRequestUrl(req, basePath)
    if (location === undefined) return outside(req, res, next)
    inPipelineOrder(req, res, () => begin(req, res, location))
  }

  const begin = (req: IncomingMessage, res: ServerResponse, location: RequestUrl): void => {
    flights.begin(res)
    if (corsOrigins.length > 0 && allowOrigin(req, res, corsOrigins)) return
    let context: RequestContext = { req, res, location, baseUrl: options.baseUrl ?? '' }
    const fault = smugglingFault(req)
    if (fault !== undefined) return refuseConnection(context, fault)
    try {
      if (options.baseUrl === undefined) context = { ...context, baseUrl: baseUrlOf(req, location.mount) }
      const match = together?.withCredentials ? router.find(req.method ?? 'GET', location.path) : undefined
      if (typeof match === 'object' && match.served.route.method === 'GET') return read(context, match)
      const identity = authenticate(req)
      if (identity instanceof Promise)
        identity.then((found) => serve(context, found)).catch((error) => fail(context, error))
      else serve(context, identity)
    } catch (error) {
      fail(context, error)
    }
  }

  /** All that a GET does before it is answered. */
  const read = (context: RequestContext, match: Match<I, S>): void => {
    const { route } = match.served
    const name = route.cacheable ? cacheKeyOf(together!, context) : undefined
    let known: Route<I, S> | undefined
    let viewer: I | null = null
    const work = async () => {
      const identity = await authenticate(context.req)
      known = route
      viewer = identity
      if (identity !== null) checkScopes(identity, route)
      checkIdentity(identity, route)
      const asked = askedOf(context, match)
      const reply = await route.handle(requestOf(context, asked, identity, undefined), services)
      return { asked, reply: name === undefined ? reply : serializeReply(reply) }
    }
    together!
      .read(work, name)
      .then(({ asked, reply }) => sendOrRedirect(context, route, reply, asked, viewer))
      .catch((error) => failOrRedirect(context, error, known, viewer))
  }

  /** The reference page is at a path of its own; the rest belongs to the host. */
  const outside = (req: IncomingMessage, res: ServerResponse, next?: Next): void => {
    const isRead = req.method === 'GET' || req.method === 'HEAD'
    if (isRead && serveReference(req, res, mountOf(req, req.url ?? ''), basePath)) return
    if (options.fallback?.(req, res) === true) return
    if (next === undefined) sendEmpty(res, 404)
    else next()
  }

  /** Credentials are checked by now: they are wrong wherever they are sent. */
  const serve = (context: RequestContext, identity: I | null): void => {
    const { req, location } = context
    const match = router.find(req.method ?? 'GET', location.path)
    if (match === 'malformed') return malformed(context)
    if (match === undefined) return unmatched(context)
    const { route } = match.served
    try {
      if (identity !== null) checkScopes(identity, route)
      checkIdentity(identity, route)
      const asked = askedOf(context, match)
      if (route.body === undefined) return handle(context, route, asked, identity, undefined)
      checkExists(route, asked.params)
        .then(() => readBody(req, route, options.bodyLimit))
        .then((body) => handle(context, route, asked, identity, body))
        .catch((error) => fail(context, error, route))
    } catch (error) {
      fail(context, error, route)
    }
  }

  const checkExists = async ({ exists }: Route<I, S>, params: unknown): Promise<void> => {
    if (exists !== undefined && !(await exists(params, services)))
      throw new AllotError('not_found', 'there is nothing at this path')
  }

  const askedOf = ({ location }: RequestContext, { served, params }: Match<I, S>): Asked => {
    const { paging, query } = served.route
    const members = query || paging ? new URLSearchParams(location.search) : undefined
    return {
      params: served.params ? pathParams(served.params, params) : params,
      query: served.query && coerce(served.query, (name) => members!.get(name)),
      page: paging && pageRequest(members!, paging, options.pageLimits),
      members,
    }
  }

  const requestOf = (
    { req, baseUrl }: RequestContext,
    { params, query, page }: Asked,
    user: I | null,
    body: unknown,
  ): RouteRequest<I> => ({
    ...{ user, params, query, body, page, baseUrl, apiUrl: baseUrl + basePath },
    // Few handlers ask for it, and parsing an address takes time.
    get client() {
      return clientOf(req, user)
    },
  })

  const handle = (
    context: RequestContext,
    route: Route<I, S>,
    asked: Asked,
    user: I | null,
    body: unknown,
  ): void => {
    const request = requestOf(context, asked, user, body)
    const work = () => route.handle(request, services)
    const answer = together !== undefined && route.method === 'GET' ? together.read(work) : work()
    if (answer instanceof Promise)
      answer
        .then((reply) => sendOrRedirect(context, route, reply, asked, user))
        .catch((error) => failOrRedirect(context, error, route, user))
    else sendOrRedirect(context, route, answer, asked, user)
  }

  const sendOrRedirect = (
    context: RequestContext,
    route: Route<I, S>,
    reply: Reply,
    asked: Asked,
    user: I | null,
  ): void => {
    if (reply.status === 404) redirect(context, route, user, () => send(context, route, reply, asked))
    else send(context, route, reply, asked)
  }

  const failOrRedirect = (
    context: RequestContext,
    error: unknown,
    route: Route<I, S> | undefined,
    user: I | null,
  ): void => {
    const isMissing = error instanceof AllotError && error.code === 'not_found'
    if (isMissing && route !== undefined && 404 in route.responses)
      redirect(context, route, user, () => fail(context, error, route))
    else fail(context, error, route)
  }

  /** Answers with the new path of a repository that has moved, and otherwise as `notFound` does. */
  const redirect = (
    context: RequestContext,
    route: Route<I, S>,
    user: I | null,
    notFound: () => void,
  ): void => {
    const { req, res, location, baseUrl } = context
    if (options.moved === undefined) return notFound()
    movedPath(options.moved, user, route.path, location.path)
      .then((path) => {
        if (path === undefined) return notFound()
        const search = location.search === '' ? '' : `?${location.search}`
        sendEmpty(res, movedStatus(req.method), ['Location', baseUrl + basePath + path + search])
      })
      .catch((error) => fail(context, error, route))
  }

  const send = (
    context: RequestContext,
    route: Route<I, S>,
    { status, body, total }: Reply,
    { page, query, members }: Asked,
  ): void => {
    const { req, res, location, baseUrl } = context
    if (status === 404) return notFound(context, "The target couldn't be found.")
    if (body === undefined) return sendEmpty(res, status)
    if (route.responses[status] === Html) return sendHtml(res, status, body as string)
    if (route.responses[status] === Ndjson)
      return void sendStream(req, res, status, body as Produce).catch((error) => fail(context, error, route))
    const url = baseUrl + basePath + location.path
    const more =
      page === undefined || total === undefined ? [] : pageHeaders(page, total, url, members!, query)
    if (route.method === 'GET') sendWithETag(req, res, status, body, more)
    else sendJson(res, status, body, more)
  }

  return { handler, idle: flights.idle }
}
