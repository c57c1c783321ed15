import type { IncomingMessage, ServerResponse } from 'node:http'
import { AllotError } from '../errors.ts'
import { readBody } from './body.ts'
import { allowOrigin } from './cors.ts'
import type { Log } from './errors.ts'
import type { Exchange } from './exchange.ts'
import { countFlights } from './flights.ts'
import { framingFault } from './framing.ts'
import { baseUrlOf, type Location, locate, mountOf } from './location.ts'
import { type FindMoved, movedPath, movedStatus } from './moved.ts'
import { type PageLimits, pageHeaders, pageRequest } from './paging.ts'
import { serveReference } from './reference.ts'
import { createRefusals } from './refusals.ts'
import { Html, Ndjson, type Produce, type Reply, readied } from './responses.ts'
import type { Identity, Route, RouteRequest } from './route.ts'
import { createRouter, type Match } from './router.ts'
import { checkIdentity, checkScopes } from './scopes.ts'
import { sendEmpty, sendHtml, sendJson, sendTagged } from './send.ts'
import { sendStream } from './stream.ts'
import { nameOf, type Together } from './together.ts'
import { inTurn } from './turns.ts'
import { coerced, pathParams } from './validate.ts'

export interface ServingOptions<I extends Identity, S> {
  routes: readonly Route<I, S>[]
  services: S
  /** @throws AllotError unauthenticated for credentials that are sent and are wrong. */
  authenticate: (req: IncomingMessage) => I | null | Promise<I | null>
  /** The client whose budgets the request counts against. */
  clientOf: (req: IncomingMessage, user: I | null) => string
  /** Where repositories that have moved are now. */
  moved?: FindMoved<I> | undefined
  /** Where the data is far away: what a GET reads is read together. */
  together?: Together | undefined
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
  beside?: (req: IncomingMessage, res: ServerResponse) => boolean
}

export type Next = (error?: unknown) => void

export interface Serving {
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

export const createServing = <I extends Identity, S>(options: ServingOptions<I, S>): Serving => {
  const { services, authenticate, clientOf, together, basePath, corsOrigins } = options
  const router = createRouter(options.routes)
  const flights = countFlights()
  const { fail, malformed, notFound, refuseConnection, unmatched } = createRefusals(options, router)

  const handler = (req: IncomingMessage, res: ServerResponse, next?: Next): void => {
    const location = locate(req, basePath)
    if (location === undefined) return outside(req, res, next)
    inTurn(req, res, () => begin(req, res, location))
  }

  const begin = (req: IncomingMessage, res: ServerResponse, location: Location): void => {
    flights.begin(res)
    if (corsOrigins.length > 0 && allowOrigin(req, res, corsOrigins)) return
    let exchange: Exchange = { req, res, location, baseUrl: options.baseUrl ?? '' }
    const fault = framingFault(req)
    if (fault !== undefined) return refuseConnection(exchange, fault)
    try {
      if (options.baseUrl === undefined) exchange = { ...exchange, baseUrl: baseUrlOf(req, location.mount) }
      const match = together?.withCredentials ? router.find(req.method ?? 'GET', location.path) : undefined
      if (typeof match === 'object' && match.served.route.method === 'GET') return read(exchange, match)
      const identity = authenticate(req)
      if (identity instanceof Promise)
        identity.then((found) => serve(exchange, found)).catch((error) => fail(exchange, error))
      else serve(exchange, identity)
    } catch (error) {
      fail(exchange, error)
    }
  }

  /** All that a GET does before it is answered. */
  const read = (exchange: Exchange, match: Match<I, S>): void => {
    const { route } = match.served
    const name = route.ofRecords ? nameOf(together!, exchange) : undefined
    let known: Route<I, S> | undefined
    let viewer: I | null = null
    const work = async () => {
      const identity = await authenticate(exchange.req)
      known = route
      viewer = identity
      if (identity !== null) checkScopes(identity, route)
      checkIdentity(identity, route)
      const asked = askedOf(exchange, match)
      const reply = await route.handle(requestOf(exchange, asked, identity, undefined), services)
      return { asked, reply: name === undefined ? reply : readied(reply) }
    }
    together!
      .read(work, name)
      .then(({ asked, reply }) => sendOrRedirect(exchange, route, reply, asked, viewer))
      .catch((error) => failOrRedirect(exchange, error, known, viewer))
  }

  /** The reference page is at a path of its own; the rest belongs to the host. */
  const outside = (req: IncomingMessage, res: ServerResponse, next?: Next): void => {
    const isRead = req.method === 'GET' || req.method === 'HEAD'
    if (isRead && serveReference(req, res, mountOf(req, req.url ?? ''), basePath)) return
    if (options.beside?.(req, res) === true) return
    if (next === undefined) sendEmpty(res, 404)
    else next()
  }

  /** Credentials are checked by now: they are wrong wherever they are sent. */
  const serve = (exchange: Exchange, identity: I | null): void => {
    const { req, location } = exchange
    const match = router.find(req.method ?? 'GET', location.path)
    if (match === 'malformed') return malformed(exchange)
    if (match === undefined) return unmatched(exchange)
    const { route } = match.served
    try {
      if (identity !== null) checkScopes(identity, route)
      checkIdentity(identity, route)
      const asked = askedOf(exchange, match)
      if (route.body === undefined) return handle(exchange, route, asked, identity, undefined)
      checkExists(route, asked.params)
        .then(() => readBody(req, route, options.bodyLimit))
        .then((body) => handle(exchange, route, asked, identity, body))
        .catch((error) => fail(exchange, error, route))
    } catch (error) {
      fail(exchange, error, route)
    }
  }

  const checkExists = async ({ exists }: Route<I, S>, params: unknown): Promise<void> => {
    if (exists !== undefined && !(await exists(params, services)))
      throw new AllotError('not_found', 'there is nothing at this path')
  }

  const askedOf = ({ location }: Exchange, { served, params }: Match<I, S>): Asked => {
    const { paging, query } = served.route
    const members = query || paging ? new URLSearchParams(location.search) : undefined
    return {
      params: served.params ? pathParams(served.params, params) : params,
      query: served.query && coerced(served.query, (name) => members!.get(name)),
      page: paging && pageRequest(members!, paging, options.pageLimits),
      members,
    }
  }

  const requestOf = (
    { req, baseUrl }: Exchange,
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
    exchange: Exchange,
    route: Route<I, S>,
    asked: Asked,
    user: I | null,
    body: unknown,
  ): void => {
    const request = requestOf(exchange, asked, user, body)
    const work = () => route.handle(request, services)
    const answer = together !== undefined && route.method === 'GET' ? together.read(work) : work()
    if (answer instanceof Promise)
      answer
        .then((reply) => sendOrRedirect(exchange, route, reply, asked, user))
        .catch((error) => failOrRedirect(exchange, error, route, user))
    else sendOrRedirect(exchange, route, answer, asked, user)
  }

  const sendOrRedirect = (
    exchange: Exchange,
    route: Route<I, S>,
    reply: Reply,
    asked: Asked,
    user: I | null,
  ): void => {
    if (reply.status === 404) redirect(exchange, route, user, () => send(exchange, route, reply, asked))
    else send(exchange, route, reply, asked)
  }

  const failOrRedirect = (
    exchange: Exchange,
    error: unknown,
    route: Route<I, S> | undefined,
    user: I | null,
  ): void => {
    const isMissing = error instanceof AllotError && error.code === 'not_found'
    if (isMissing && route !== undefined && 404 in route.responses)
      redirect(exchange, route, user, () => fail(exchange, error, route))
    else fail(exchange, error, route)
  }

  /** Answers with the new path of a repository that has moved, and otherwise as `notFound` does. */
  const redirect = (exchange: Exchange, route: Route<I, S>, user: I | null, notFound: () => void): void => {
    const { req, res, location, baseUrl } = exchange
    if (options.moved === undefined) return notFound()
    movedPath(options.moved, user, route.path, location.path)
      .then((path) => {
        if (path === undefined) return notFound()
        const search = location.search === '' ? '' : `?${location.search}`
        sendEmpty(res, movedStatus(req.method), ['Location', baseUrl + basePath + path + search])
      })
      .catch((error) => fail(exchange, error, route))
  }

  const send = (
    exchange: Exchange,
    route: Route<I, S>,
    { status, body, total }: Reply,
    { page, query, members }: Asked,
  ): void => {
    const { req, res, location, baseUrl } = exchange
    if (status === 404) return notFound(exchange, "The target couldn't be found.")
    if (body === undefined) return sendEmpty(res, status)
    if (route.responses[status] === Html) return sendHtml(res, status, body as string)
    if (route.responses[status] === Ndjson)
      return void sendStream(req, res, status, body as Produce).catch((error) => fail(exchange, error, route))
    const url = baseUrl + basePath + location.path
    const more =
      page === undefined || total === undefined ? [] : pageHeaders(page, total, url, members!, query)
    if (route.method === 'GET') sendTagged(req, res, status, body, more)
    else sendJson(res, status, body, more)
  }

  return { handler, idle: flights.idle }
}
