import type { IncomingMessage, ServerResponse } from 'node:http'
import { AllotError, type ErrorCode } from '../errors.ts'
import {
  type AccessMessages,
  type AccessRule,
  allowOrigin,
  type Caller,
  checkAccess,
  refuseForged,
} from './access.ts'
import { type BodyTurn, BodyTurns } from './body/body-turns.ts'
import { ClientDisconnected, type Failure, failedRequest, toFailure } from './failure.ts'
import { type FindMovedPath, movedStatus } from './former-names.ts'
import { type LastingRights, lastingRights } from './lasting.ts'
import { type Log, noteRoute, noteUser } from './log.ts'
import { inRequestOrder, isNext, trackInFlight, UnreadResponses } from './pipelining.ts'
import { baseUrlOf, parseRequestUrl, type RequestUrl } from './request-url.ts'
import type { KeptReply, Sendable } from './responses.ts'
import type { Match, NoMatch, Routed, Router } from './router.ts'
import { sendEmpty, sendReply, signalOf } from './send.ts'
import { refuseAmbiguous } from './smuggling.ts'

/**
 * The request pipeline. Every request of the API, of git and of the pages goes through the same steps: match
 * a route, authenticate, check access, read the input and call the handler, send the reply. A reply that is
 * in the cache is sent at once: its key has the credentials, and a write that changes what they may do drops
 * it. Routes of streams declare no scope: their handlers check it with `requireScopes`, since it can depend
 * on the request. Pages read a form first, and check its CSRF token when they have authenticated the request.
 * The differences between JSON, streams and pages are in three implementations of {@link Endpoints}.
 */

/** A request on its way through the pipeline. */
export interface RequestContext<I = unknown, R = unknown> extends BodyTurn {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  readonly url: RequestUrl
  /** Undefined for a request that no route takes. */
  readonly route?: R | undefined
  readonly params: Match<R>['params']
  /** Without a route, what the path takes, as in {@link NoMatch}. */
  readonly allow?: string | undefined
  /** URL of the service as this client reaches it, without a slash at the end. */
  baseUrl: string
  /**
   * Null for a client without credentials; undefined until the request is authenticated, and for routes that
   * need no authentication.
   */
  user: I | null | undefined
  /** Every response that is a stream watches them. */
  readonly rights: LastingRights<I>
  /** Passes the request on to the host, or to what else is mounted; absent when there is nothing. */
  readonly next?: Next | undefined
}

/** Routes of one kind: how their input is read, and what is sent for their replies and failures. */
export interface Endpoints<I = unknown, R extends Routed & AccessRule = Routed & AccessRule> {
  /** Path that all routes begin with, such as `/api/v1`; requests with other paths are not matched. */
  readonly basePath: string
  readonly router: Pick<Router<R>, 'match'>
  /** Messages of 401 and 403; those of the API when absent. */
  readonly accessMessages?: AccessMessages
  /** Who may send a request that no route takes. */
  readonly otherwise: AccessRule
  /**
   * Whether a request that no route takes is answered all the same.
   * @param isLast whether it goes to nothing else
   */
  takes(req: IncomingMessage, url: RequestUrl, other: NoMatch, isLast: boolean): boolean
  /**
   * Authenticates a request by credentials that only these routes take; undefined when the dispatcher
   * authenticates it.
   * @throws AllotError unauthenticated for wrong credentials
   */
  authenticate?(context: RequestContext<I, R>): Promise<I | null> | undefined
  /** Reads and validates the input, and calls the handler of the route. */
  answer(context: RequestContext<I, R>): Promise<Sendable>
  /** The response to a request that failed before its response began. */
  failure(context: RequestContext<I, R>, failure: Failure): Sendable
  /**
   * Whether a request whose resource does not exist, or that lacks a login, is passed on by `next`, since
   * something else may have its path.
   */
  passesOn?(context: RequestContext<I, R>): boolean
  /**
   * URL below which a client reaches these routes, without their base path; that of the service when absent.
   */
  urlOf?(context: RequestContext<I, R>): string
  /** The reply that is kept for GETs like this one; undefined when the request must be handled. */
  kept?(req: IncomingMessage, url: RequestUrl, baseUrl: string): KeptReply<I> | undefined
}

export type Next = (error?: unknown) => void

interface DispatcherOptions<I extends Caller> {
  /** The kinds of routes in order of precedence: the first that matches handles the request. */
  endpoints: readonly Endpoints<I>[]
  /** @throws AllotError unauthenticated for wrong credentials */
  authenticate: (req: IncomingMessage) => Promise<I | null>
  /** @throws AllotError unauthenticated, forbidden when the credentials of a request that lasts have ended */
  userNow: (user: I) => Promise<I>
  /** Client whose budgets a request counts against. */
  clientOf: (req: IncomingMessage, user: I | null) => string
  /** URL of the service, when it does not follow from the headers of a request. */
  baseUrl: string | undefined
  /** Number of reverse proxies in front of the server. */
  trustedProxies: number
  /** Name of all routes in the metrics; the path of each when absent. */
  routesName?: string
  /**
   * Origins whose pages may read the responses; CORS is off when empty. Absent for pages, which no other
   * origin may send forms to, whatever headers the host has set.
   */
  corsOrigins?: readonly string[]
  /** Runs the handlers of routes. */
  runHandler?: <T>(handle: () => T) => T
  /** Finds what a path with a former name names now. */
  movedPath?: FindMovedPath<I>
  /** Handles requests that no endpoints match. */
  unmatched: (req: IncomingMessage, res: ServerResponse, next: Next | undefined) => void
  log: Log
}

type Context<I> = RequestContext<I, Routed & AccessRule>

/** Takes requests of all {@link Endpoints} through the pipeline. */
export class Dispatcher<I extends Caller> {
  readonly #options: DispatcherOptions<I>
  readonly #inFlight = trackInFlight()
  readonly #unread = new UnreadResponses()
  readonly #turns = new BodyTurns()

  constructor(options: DispatcherOptions<I>) {
    this.#options = options
  }

  /** A node:http listener that also fits Express and Connect. It never throws and leaves no response open. */
  readonly handler = (req: IncomingMessage, res: ServerResponse, next?: Next): void => {
    if (refuseAmbiguous(req, res)) return
    const { endpoints: all, unmatched, routesName } = this.#options
    for (const endpoints of all) {
      const url = parseRequestUrl(req, endpoints.basePath)
      if (url === undefined) continue
      const kept = this.#kept(endpoints, req, url)
      if (kept !== undefined) return inRequestOrder(res, () => this.#sendKept(kept, req, res))
      const found = endpoints.router.match(req.method ?? 'GET', url.path)
      const isTaken = found.route !== undefined || endpoints.takes(req, url, found, next === undefined)
      if (!isTaken) continue
      noteRoute(req, 'allow' in found && !found.allow ? undefined : (routesName ?? found.route?.path))
      return inRequestOrder(res, () => this.#serve(endpoints, { req, res, url, ...found, next }))
    }
    unmatched(req, res, next)
  }

  /** Resolves when all responses in flight have ended. */
  idle(): Promise<void> {
    return this.#inFlight.idle()
  }

  /** Undefined also for a request that waits, since the reply may change meanwhile. */
  #kept(endpoints: Endpoints<I>, req: IncomingMessage, url: RequestUrl): KeptReply<I> | undefined {
    if (req.method !== 'GET' || endpoints.kept === undefined || !isNext(req)) return undefined
    const { baseUrl, trustedProxies, clientOf } = this.#options
    try {
      const kept = endpoints.kept(req, url, baseUrl ?? baseUrlOf(req, url.mount, trustedProxies))
      const mayHave = kept && !this.#unread.isTooMuch(() => clientOf(req, kept.sender.user))
      return mayHave ? kept : undefined
    } catch {
      // The Host header is malformed, which the request is told when it is served.
      return undefined
    }
  }

  #sendKept({ sender, path, reply }: KeptReply<I>, req: IncomingMessage, res: ServerResponse): void {
    const { corsOrigins = [], clientOf } = this.#options
    const { user } = sender
    this.#inFlight.begin(res)
    if (corsOrigins.length > 0) allowOrigin(req, res, corsOrigins)
    sender.use?.()
    noteUser({ req, user })
    noteRoute(req, path)
    sendReply(req, res, reply)
    this.#unread.count(() => clientOf(req, user), res)
  }

  async #serve(
    endpoints: Endpoints<I>,
    matched: Pick<Context<I>, 'req' | 'res' | 'url' | 'route' | 'params' | 'allow' | 'next'>,
  ): Promise<void> {
    const { corsOrigins, baseUrl, trustedProxies, clientOf, runHandler = (run) => run() } = this.#options
    const { req, res, url, route = endpoints.otherwise, params, allow, next } = matched
    // The members are listed, since V8 takes as long for a spread as for the rest of the pipeline.
    const context: Context<I> = {
      req,
      res,
      url,
      route: matched.route,
      params,
      allow,
      next,
      baseUrl: baseUrl ?? '',
      user: undefined,
      rights: lastingRights(() => this.#userNow(endpoints, context)),
      turns: this.#turns,
      client: () => clientOf(req, context.user ?? null),
      signal: () => signalOf(res),
    }
    this.#inFlight.begin(res)
    try {
      if (corsOrigins?.length && allowOrigin(req, res, corsOrigins)) return
      if (baseUrl === undefined) context.baseUrl = baseUrlOf(req, url.mount, trustedProxies)
      // A page of any origin, where all are allowed, must send a token.
      if (!corsOrigins?.includes(req.headers.origin ?? '')) refuseForged(req, context.baseUrl)
      if (route.auth !== 'none') {
        context.user = await (endpoints.authenticate?.(context) ?? this.#options.authenticate(req))
        noteUser(context)
        checkAccess(context.user, route, endpoints.accessMessages)
        this.#unread.refuseMore(context.client)
      }
      const reply = await runHandler(() => endpoints.answer(context))
      if (req.method === 'GET') this.#unread.refuseMore(context.client)
      await sendReply(req, res, reply)
      this.#unread.count(context.client, res)
    } catch (error) {
      await this.#fail(endpoints, context, error)
    }
  }

  async #userNow(endpoints: Endpoints<I>, context: Context<I>): Promise<I | null> {
    const { user = null, route = endpoints.otherwise } = context
    const now = user && (await this.#options.userNow(user))
    if (route.auth !== 'none') checkAccess(now, route, endpoints.accessMessages)
    return now
  }

  /**
   * Sends the client to the path with the present names.
   * @returns whether the path has a former name
   */
  async #redirect(endpoints: Endpoints<I>, context: Context<I>): Promise<boolean> {
    const { movedPath } = this.#options
    const { req, res, route, params, url, user } = context
    if (!movedPath || !route || user === undefined || res.headersSent) return false
    const path = await movedPath({ user, route, params, path: url.path })
    if (path === undefined) return false
    const search = url.search === '' ? '' : `?${url.search}`
    const site = endpoints.urlOf?.(context) ?? context.baseUrl
    sendEmpty(res, movedStatus(req.method), ['Location', site + endpoints.basePath + path + search])
    return true
  }

  /**
   * Responds to a request that failed. A response that has begun is cut off, which tells the client that it
   * is incomplete.
   */
  async #fail(endpoints: Endpoints<I>, context: Context<I>, error: unknown): Promise<void> {
    const { req, res, url } = context
    let cause = error
    try {
      cause = await context.rights.causeOf(error)
      if (hasCode(cause, 'not_found') && (await this.#redirect(endpoints, context))) return
      const isNothing = hasCode(cause, 'not_found') || hasCode(cause, 'unauthenticated')
      if (isNothing && context.next !== undefined && endpoints.passesOn?.(context)) return context.next()
    } catch (redirectError) {
      cause = redirectError
    }
    if (cause instanceof ClientDisconnected) return void res.destroy()
    try {
      const failure = toFailure(cause, this.#options.log, failedRequest(req, res, url.path))
      if (res.headersSent) res.destroy()
      else await sendReply(req, res, endpoints.failure(context, failure))
    } catch {
      // The host's log threw, or the view of the failure failed. The client must not wait forever.
      res.destroy()
    }
  }
}

const hasCode = (error: unknown, code: ErrorCode): boolean =>
  error instanceof AllotError && error.code === code
