import type { IncomingMessage, ServerResponse } from 'node:http'
import { AllotError } from '../errors.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { type AccessMessages, API_MESSAGES, type Caller } from './access.ts'
import type { BodyTurns } from './body/body-turns.ts'
import { readBody } from './body/read-body.ts'
import type { Endpoints, RequestContext } from './dispatcher.ts'
import { type Failure, retryAfterHeader } from './failure.ts'
import { type PageLimits, type Pagination, pageHeaders, paginationOf } from './paging.ts'
import { REFERENCE_PATH } from './reference-page.ts'
import { isPageView, type RequestUrl } from './request-url.ts'
import {
  type JsonKind,
  type KeptReply,
  type KeptSender,
  matchesETag,
  type OpenDownload,
  type Produce,
  type Reply,
  type ReplyStore,
  replyKey,
  requestKey,
  SerializedJson,
  sizeOfReply,
} from './responses.ts'
import type { HtmlUrlsOf, Route } from './route.ts'
import { Router } from './router.ts'
import { HTML_HEADERS, JSON_HEADERS, send, sendDownload, sendEmpty, sendLines, signalOf } from './send.ts'
import { type Coercion, coerce, coercionOf, pathParams } from './validate.ts'

interface JsonEndpointsOptions<I extends Caller, S> {
  routes: readonly Route<I, S>[]
  services: S
  htmlUrls: HtmlUrlsOf<S>
  store: ReplyStore
  clientOf: (req: IncomingMessage, user: I | null) => string
  /** Undefined for a sender whom more than the Authorization header and records names. */
  keptSender?: (req: IncomingMessage) => KeptSender<I> | undefined
  /** Shared by all endpoints, so that a client has one turn. */
  turns: BodyTurns
  /** Path that all routes begin with, such as `/api/v1`. */
  basePath: string
  /** Message of a 401 for a client without credentials. */
  signInMessage: string
  /** Message of a 404 for which the route has no message; undefined: every 404 has an empty body. */
  notFoundMessage: string | undefined
  /** Bytes of a body, for routes that do not declare a limit. */
  bodyLimit: number
  pageLimits: PageLimits
}

/** A reply with the headers of its page. */
interface JsonReply extends Reply {
  readonly headers?: string[] | undefined
}

/** A route with the coercions of its parameters, which are derived from its schemas once. */
interface PreparedRoute<I extends Caller, S> extends Route<I, S> {
  readonly paramsCoercion: Coercion | undefined
  readonly queryCoercion: Coercion | undefined
  /** The query of a request that sends none; undefined when that is refused. */
  readonly emptyQuery: unknown
}

type Context<I extends Caller, S> = RequestContext<I, PreparedRoute<I, S>>

/** The JSON API: all paths below the base path, known or not. */
export class JsonEndpoints<I extends Caller, S> implements Endpoints<I, PreparedRoute<I, S>, JsonReply> {
  readonly basePath: string
  readonly router: Router<PreparedRoute<I, S>>
  readonly accessMessages: AccessMessages
  readonly #options: JsonEndpointsOptions<I, S>
  readonly #unmatched = prepared(unmatchedRoute<I, S>())

  constructor(options: JsonEndpointsOptions<I, S>) {
    this.basePath = options.basePath
    this.accessMessages = { ...API_MESSAGES, unauthenticated: options.signInMessage }
    this.#options = options
    const unmatched = this.#unmatched
    this.router = new Router(options.routes.map(prepared), { wrongMethod: unmatched, unknownPath: unmatched })
  }

  async handle(context: Context<I, S>): Promise<JsonReply> {
    const { route } = context
    if (route === this.#unmatched) return replyUnmatched(context)
    if (!route.cacheable) return this.#call(context)
    const key = replyKey(context)
    const known = this.#options.store.known<JsonReply>(key)
    if (known === undefined) return this.#call(context)
    this.#keep(context, key, known)
    return known
  }

  /** @returns the reply to each request like this one, whose credentials were accepted and have not ended */
  kept({ headers }: IncomingMessage, url: RequestUrl, baseUrl: string): KeptReply<I> | undefined {
    if (headers.sudo !== undefined) return undefined
    return this.#options.store.known(requestKey(headers, url, baseUrl))
  }

  /** Keeps a known reply for requests like this one until the reply or its sender is not kept any more. */
  #keep({ req, url, baseUrl, user = null }: Context<I, S>, key: string, reply: JsonReply): void {
    const { store, keptSender } = this.#options
    const sender = req.method === 'GET' ? keptSender?.(req) : undefined
    if (sender === undefined || sender.user !== user) return
    const kept: KeptReply<I> = { sender, send: (req, res) => sendJson(req, res, reply) }
    const requested = requestKey(req.headers, url, baseUrl)
    // While a client is slow to read, requests are handled although their replies are kept.
    if (store.known(requested) !== undefined) return
    store.join(requested, sender.key === undefined ? [key] : [key, sender.key], kept)
  }

  /** Reads and validates the input, and calls the handler. */
  async #call(context: Context<I, S>): Promise<JsonReply> {
    const { req, res, route, params, url, baseUrl, user = null } = context
    const { basePath, services, htmlUrls, bodyLimit, pageLimits, clientOf, turns } = this.#options
    const { paramsCoercion, paging } = route
    const members = url.search === '' ? NO_MEMBERS : new URLSearchParams(url.search)
    const sender = { client: () => clientOf(req, user), signal: () => signalOf(res) }
    const request = {
      user,
      baseUrl,
      apiUrl: baseUrl + basePath,
      htmlUrls,
      params: paramsCoercion ? pathParams(paramsCoercion, params) : params,
      query: queryOf(route, url.search, members),
      page: paging && paginationOf(members, paging, pageLimits),
      body: undefined as unknown,
      client: sender.client,
      inTurn: <T>(bytes: number, make: () => Promise<T>) => turns.parse(bytes, sender, make),
      whileAllowed: context.rights.whileAllowed,
      cached: <T extends Reply>(read: (tx: ReadTransaction) => Promise<T>) =>
        this.#load(context, async (tx) => withHeaders(await read(tx))) as Promise<T>,
    }
    const { page, apiUrl, query } = request
    const withHeaders = (reply: JsonReply): JsonReply => {
      if (page === undefined || !('total' in reply) || reply.headers !== undefined) return reply
      const headers = pageHeaders(page, countOf(reply, page), apiUrl + url.path, members, query)
      // The members are listed, since `{ ...reply, headers }` takes V8 fifty times as long.
      return { status: reply.status, body: reply.body, total: reply.total, headers }
    }
    if (route.body !== undefined) {
      if (route.exists !== undefined && !(await route.exists(request.params, services))) throw notFound()
      request.body = await readBody(req, route, bodyLimit, { turns, ...sender })
    }
    return withHeaders(await route.handle(request, services))
  }

  /** Reads a reply, and keeps a 200 as it is sent: clients can ask for any number of things without one. */
  async #load(context: Context<I, S>, read: (tx: ReadTransaction) => Promise<JsonReply>): Promise<JsonReply> {
    let reply: JsonReply | undefined
    const load = async (tx: ReadTransaction): Promise<JsonReply | undefined> => {
      const { status, body, headers } = await read(tx)
      reply = { status, body: body === undefined ? undefined : SerializedJson.of(body), headers }
      return status === 200 ? reply : undefined
    }
    await this.#options.store.load(replyKey(context), load, sizeOfReply)
    return reply!
  }

  async send(context: Context<I, S>, reply: JsonReply): Promise<void> {
    const { req, res, route } = context
    const { status, body, headers = [] } = reply
    if (status === 404) return this.#sendNotFound(context, this.#options.notFoundMessage)
    if (body === undefined) return sendEmpty(res, status, headers)
    const kind = route.responses[status]
    if (typeof body === 'function') context.rights.watch(signalOf(res), () => res.destroy())
    switch (kind?.kind) {
      case 'html':
        return send(res, status, body as string, HTML_HEADERS)
      case 'ndjson':
        return sendLines(req, res, status, body as Produce)
      case 'download':
        return sendDownload(req, res, body as OpenDownload)
      default:
        // JSON, also where a status is not declared, such as 405. Another kind of body needs a case.
        kind satisfies JsonKind | undefined
    }
    if (route.method === 'GET' && status < 300) sendJson(req, res, reply)
    else send(res, status, SerializedJson.of(body).text, [...JSON_HEADERS, ...headers])
  }

  sendFailure(context: Context<I, S>, failure: Failure): void {
    const { res, route, baseUrl } = context
    const { message, details } = failure
    const status = accountIsDeleted(context, failure) ? 401 : declaredStatus(route, failure)
    if (status === 404) return this.#sendNotFound(context, message)
    const body = errorBody(status, route.failure?.(message), {
      ...{ message, url: baseUrl + REFERENCE_PATH },
      ...details,
    })
    send(res, status, JSON.stringify(body), [...JSON_HEADERS, ...retryAfterHeader(failure)])
  }

  #sendNotFound({ res, baseUrl }: Context<I, S>, message: string | undefined): void {
    if (this.#options.notFoundMessage === undefined) return sendEmpty(res, 404)
    send(res, 404, JSON.stringify({ message, url: baseUrl + REFERENCE_PATH }), JSON_HEADERS)
  }
}

/** Sends what a GET has found, or 304 to a client that has it already. */
const sendJson = (req: IncomingMessage, res: ServerResponse, { status, body, headers = [] }: JsonReply) => {
  const { text, tag, size } = SerializedJson.of(body)
  if (matchesETag(req.headers['if-none-match'], tag)) sendEmpty(res, 304, ['ETag', tag, ...headers])
  else send(res, status, text, [...JSON_HEADERS, 'ETag', tag, ...headers], size)
}

const countOf = ({ total, body }: Reply, { limit }: Pagination) => {
  // Searches wrap their list.
  const items = Array.isArray(body) ? body : (body as { readonly data?: unknown } | undefined)?.data
  return { total, isFull: Array.isArray(items) && items.length >= limit }
}

const NO_MEMBERS = new URLSearchParams()

/**
 * Replies to a request that no route takes: with 400, 404, 405, or 204 for OPTIONS. A browser that opens the
 * base path, which `allot serve` prints, is sent to the page that describes the API.
 */
const replyUnmatched = ({ req, params, url, baseUrl }: RequestContext): JsonReply => {
  if (params.allow === undefined) throw new AllotError('bad_request', 'the path is not well encoded')
  if (url.path === '/' && isPageView(req))
    return { status: 303, body: undefined, headers: ['Location', baseUrl + REFERENCE_PATH] }
  if (params.allow === '') throw notFound()
  const allowed = `${params.allow}, OPTIONS`
  const headers = ['Allow', allowed]
  if (req.method === 'OPTIONS') return { status: 204, body: undefined, headers }
  const message = `this path takes ${allowed}, not ${req.method}`
  return { status: 405, body: { message, url: baseUrl + REFERENCE_PATH }, headers }
}

/**
 * The route of a request that no declared route matches: it answers 404. It authenticates the request first,
 * since wrong credentials get 401 on every path.
 */
const unmatchedRoute = <I extends Caller, S>(): Route<I, S> => ({
  method: 'GET',
  path: '',
  operationId: '',
  tag: '',
  summary: '',
  auth: 'optional',
  responses: {},
  mayHaveMoved: false,
  handle: () => Promise.reject(notFound()),
})

const prepared = <I extends Caller, S>(route: Route<I, S>): PreparedRoute<I, S> => {
  const queryCoercion = route.query && coercionOf(route.query)
  return {
    ...route,
    paramsCoercion: route.params && coercionOf(route.params),
    queryCoercion,
    emptyQuery: queryCoercion && emptyQueryOf(queryCoercion),
  }
}

/** Requests share it, so it cannot be changed. */
const emptyQueryOf = (coercion: Coercion): unknown => {
  try {
    return Object.freeze(coerce(coercion, () => undefined))
  } catch {
    // Each request without a query is refused then.
    return undefined
  }
}

const queryOf = (
  { queryCoercion, emptyQuery }: Pick<PreparedRoute<Caller, unknown>, 'queryCoercion' | 'emptyQuery'>,
  search: string,
  members: URLSearchParams,
): unknown => {
  if (search === '' && emptyQuery !== undefined) return emptyQuery
  return queryCoercion && coerce(queryCoercion, (name) => members.get(name))
}

const notFound = () => new AllotError('not_found', 'there is nothing at this path')

/** Where a route declares no 409, a conflict is a fault of the input. */
const declaredStatus = ({ responses }: { responses: object }, { status }: Failure): number =>
  status === 409 ? ([409, 400, 422].find((each) => each in responses) ?? status) : status

/**
 * When a route of signed-in users declares no 404, `not_found` can only mean that the account was deleted
 * during the request: then the response is 401.
 */
const accountIsDeleted = (
  { route, user }: RequestContext<Caller, Pick<Route, 'auth' | 'responses'>>,
  { status }: Failure,
): boolean => status === 404 && user !== undefined && route.auth !== 'optional' && !(404 in route.responses)

/** The body of an error. Failures of the server have the route's own members only. */
const errorBody = (status: number, own: object | undefined, usual: object): object => {
  if (own === undefined) return usual
  return status >= 500 ? own : { ...own, ...usual }
}
