import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { AllotError } from '../errors.ts'
import type { MadeOf, ReadTransaction } from '../storage/index.ts'
import { type AccessMessages, API_MESSAGES, type Caller } from './access.ts'
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
  type OpenDownload,
  type Produce,
  type Reply,
  type ReplyStore,
  type Sendable,
  SerializedJson,
} from './responses.ts'
import type { HtmlUrlsOf, Route } from './route.ts'
import { Router } from './router.ts'
import { HTML_HEADERS, JSON_HEADERS, openDownload, PRIVATE } from './send.ts'
import { coerce, pathParams } from './validate.ts'

/** What replies are made with. */
export interface ReplyServices {
  readonly store: ReplyStore
  readonly htmlUrls: {
    /** Path of the pages, which replies lead to. */
    readonly pagesPath: string
  }
}

interface JsonEndpointsOptions<I extends Caller, S> {
  routes: readonly Route<I, S>[]
  services: S
  /** Undefined for a sender whom more than the Authorization header and records names. */
  keptSender?: (req: IncomingMessage) => KeptSender<I> | undefined
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
  readonly headers?: readonly string[] | undefined
}

type Context<I extends Caller, S> = RequestContext<I, Route<I, S>>

/** The JSON API: all paths below the base path, known or not. */
export class JsonEndpoints<I extends Caller, S extends ReplyServices> implements Endpoints<I, Route<I, S>> {
  readonly basePath: string
  readonly router: Router<Route<I, S>>
  readonly accessMessages: AccessMessages
  /** Wrong credentials get 401 on every path. */
  readonly otherwise = { auth: 'optional' } as const
  readonly #options: JsonEndpointsOptions<I, S>

  constructor(options: JsonEndpointsOptions<I, S>) {
    this.basePath = options.basePath
    this.accessMessages = { ...API_MESSAGES, unauthenticated: options.signInMessage }
    this.#options = options
    this.router = new Router(options.routes)
  }

  takes(): boolean {
    return true
  }

  async answer(context: Context<I, S>): Promise<Sendable> {
    const { req, res, route, rights, signal } = context
    if (route === undefined) return unmatchedReply(context)
    const { status, body, headers = [] } = await this.#call(context, route)
    if (status === 404) throw notFound(this.#options.notFoundMessage)
    if (body === undefined) return { status, headers: [...PRIVATE, ...headers] }
    if (typeof body === 'function') rights.watch(signal(), () => res.destroy())
    const kind = route.responses[status]
    switch (kind?.kind) {
      case 'html':
        return { status, headers: HTML_HEADERS, body: body as string }
      case 'ndjson':
        return { status, lines: body as Produce }
      case 'download':
        return openDownload(req, res, body as OpenDownload)
      default:
        // JSON, also where a status is not declared. Another kind of body needs a case.
        kind satisfies JsonKind | undefined
        return { status, headers, body: SerializedJson.of(body) }
    }
  }

  /** @returns the reply to each request like this one, whose credentials were accepted and have not ended */
  kept({ headers }: IncomingMessage, url: RequestUrl, baseUrl: string): KeptReply<I> | undefined {
    if (headers.sudo !== undefined) return undefined
    return this.#options.services.store.known(this.#keyOf(headers, url, baseUrl))
  }

  /**
   * Names all that the reply to a GET depends on besides records, for a sender whom its Authorization header
   * alone names: neither `Accept` nor another header. That header comes last, since it can have spaces. No
   * other part has a space, and no path a question mark.
   */
  #keyOf({ authorization = '' }: IncomingHttpHeaders, url: RequestUrl, baseUrl: string): string {
    const { pagesPath } = this.#options.services.htmlUrls
    return `request ${baseUrl} ${pagesPath} ${url.path}?${url.search} ${authorization}`
  }

  /** Reads and validates the input, and calls the handler. */
  async #call(context: Context<I, S>, route: Route<I, S>): Promise<JsonReply> {
    const { req, params, url, baseUrl, user = null, client, turns, rights } = context
    const { basePath, services, bodyLimit, pageLimits } = this.#options
    const { paging } = route
    const members = url.search === '' ? NO_MEMBERS : new URLSearchParams(url.search)
    let madeOf: MadeOf | undefined
    const request = {
      user,
      baseUrl,
      apiUrl: baseUrl + basePath,
      htmlUrls: services.htmlUrls as HtmlUrlsOf<S>,
      params: route.params ? pathParams(route.params, params) : params,
      query: route.query && coerce(route.query, (name) => members.get(name)),
      page: paging && paginationOf(members, paging, pageLimits),
      body: undefined as unknown,
      client,
      inTurn: <T>(bytes: number, make: () => T | Promise<T>) => turns.parse(bytes, context, make),
      whileAllowed: rights.whileAllowed,
      cached: <T extends Reply>(read: (tx: ReadTransaction) => Promise<T>) =>
        this.#load(context, route.path, async (tx) => withHeaders(await read(tx))) as Promise<T>,
      keptWith: (part: MadeOf) => {
        madeOf = part
      },
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
      request.body = await readBody(req, route, bodyLimit, context)
    }
    const reply = withHeaders(await route.handle(request, services))
    if (madeOf !== undefined) this.#keep(context, route.path, reply, madeOf)
    return reply
  }

  /** Keeps a 200, for a sender whom the store keeps: clients can ask for any number of things without one. */
  #keep(
    { req, url, baseUrl, user }: Context<I, S>,
    path: string,
    { status, body, headers }: JsonReply,
    madeOf: MadeOf,
  ): void {
    const { services, keptSender } = this.#options
    const sender = keptSender?.(req)
    const isKept = status === 200 && body instanceof SerializedJson && body.text.length <= MAX_KEPT
    if (!isKept || sender === undefined || sender.user !== user) return
    const kept: Kept<I> = { sender, path, reply: { status, body, headers } }
    const key = this.#keyOf(req.headers, url, baseUrl)
    services.store.keep(key, kept, sizeOf(kept), [...partsOf(sender), madeOf])
  }

  /**
   * Reads a reply, and keeps a 200 as it is sent, for a sender whom the store keeps: clients can ask for any
   * number of things without one.
   */
  async #load(
    { req, url, baseUrl, user = null, client }: Context<I, S>,
    path: string,
    read: (tx: ReadTransaction) => Promise<JsonReply>,
  ): Promise<JsonReply> {
    const { services, keptSender } = this.#options
    const { store } = services
    const sender = keptSender?.(req)
    if (sender === undefined || sender.user !== user)
      return store.read(read, `${client()} ${url.path}?${url.search}`)
    const key = this.#keyOf(req.headers, url, baseUrl)
    const known = store.known<Kept<I>>(key)
    // A request of HEAD, or one that has waited for others of its connection.
    if (known !== undefined) return known.reply
    let reply: JsonReply
    const load = async (tx: ReadTransaction): Promise<Kept<I> | undefined> => {
      const { status, body, headers } = await read(tx)
      const serialized = body === undefined ? undefined : SerializedJson.of(body)
      reply = { status, body: serialized, headers }
      return status === 200 ? { sender, path, reply: { status, body: serialized, headers } } : undefined
    }
    await store.load(key, load, { sizeOf, madeOf: partsOf(sender) })
    return reply!
  }

  failure(context: Context<I, S>, failure: Failure): Sendable {
    const { route, baseUrl } = context
    const { message, details } = failure
    const status = accountIsDeleted(context, failure) ? 401 : declaredStatus(route, failure)
    const isMissing = status === 404
    if (isMissing && this.#options.notFoundMessage === undefined) return { status, headers: PRIVATE }
    const usual = { message, url: baseUrl + REFERENCE_PATH, ...(isMissing ? undefined : details) }
    const body = errorBody(status, isMissing ? undefined : route?.failure?.(message), usual)
    const headers = [...JSON_HEADERS, ...Object.entries(retryAfterHeader(failure)).flat()]
    return { status, headers, body: JSON.stringify(body) }
  }
}

/** A reply that the store keeps. */
interface Kept<I> extends KeptReply<I> {
  readonly reply: JsonReply & { readonly body: SerializedJson<unknown> | undefined }
}

/** Each character can take two bytes. */
const sizeOf = (kept?: Kept<unknown>) => 2 * (kept?.reply.body?.text.length ?? 0)

const partsOf = ({ madeOf }: KeptSender<unknown>) => (madeOf === undefined ? [] : [madeOf])

/** Characters of a reply that is made of git data: a longer one gains little, and displaces many others. */
const MAX_KEPT = 64 * 1024

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
const unmatchedReply = ({ req, allow, url, baseUrl }: RequestContext): Sendable => {
  if (allow === undefined) throw new AllotError('bad_request', 'the path is not well encoded')
  if (url.path === '/' && isPageView(req))
    return { status: 303, headers: [...PRIVATE, 'Location', baseUrl + REFERENCE_PATH] }
  if (allow === '') throw notFound()
  const allowed = `${allow}, OPTIONS`
  const headers = ['Allow', allowed]
  if (req.method === 'OPTIONS') return { status: 204, headers: [...PRIVATE, ...headers] }
  const message = `this path takes ${allowed}, not ${req.method}`
  return { status: 405, body: SerializedJson.of({ message, url: baseUrl + REFERENCE_PATH }), headers }
}

const notFound = (message = 'there is nothing at this path') => new AllotError('not_found', message)

/** Where a route declares no 409, a conflict is a fault of the input. */
const declaredStatus = (route: Pick<Route, 'responses'> | undefined, { status }: Failure): number =>
  status === 409 && route ? ([409, 400, 422].find((each) => each in route.responses) ?? status) : status

/**
 * When a route of signed-in users declares no 404, `not_found` can only mean that the account was deleted
 * during the request: then the response is 401.
 */
const accountIsDeleted = (
  { route, user }: RequestContext<Caller, Pick<Route, 'auth' | 'responses'>>,
  { status }: Failure,
): boolean =>
  status === 404 && !!user && route !== undefined && route.auth !== 'optional' && !(404 in route.responses)

/** The body of an error. Failures of the server have the route's own members only. */
const errorBody = (status: number, own: object | undefined, usual: object): object => {
  if (own === undefined) return usual
  return status >= 500 ? own : { ...own, ...usual }
}
