import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { AllotError, type ErrorCode } from '../errors.ts'
import { REFERENCE_PATH } from './reference-page.ts'
import type { RequestContext, Route } from './route.ts'
import type { Router } from './router.ts'
import { sendEmpty, sendJson } from './send.ts'

/** The client went away: there is nobody to answer. */
export class ClientDisconnected extends Error {}

/** The one table from what went wrong to what is answered. */
const statuses: Record<ErrorCode, number> = {
  bad_request: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  too_large: 413,
  unsupported_media_type: 415,
  invalid: 422,
  too_many_requests: 429,
  unavailable: 503,
  storage_full: 507,
}

/** What the statuses mean here, for the documents. */
export const statusTexts: Record<number, string> = {
  200: 'done',
  201: 'created',
  202: 'accepted',
  204: 'done; the body is empty',
  301: 'the repository has another name or owner now; Location has its URL',
  308: 'the repository has another name or owner now; Location has its URL',
  400: 'the request is malformed',
  401: 'credentials are needed, or those that were sent are wrong',
  403: 'the credentials do not allow this',
  404: 'there is no such thing; the body is empty',
  409: 'what is there already is in the way',
  413: 'the body is too large',
  415: 'the content type is not taken',
  422: 'input fails validation',
  429: 'too many logins have failed; Retry-After has the seconds to wait',
  500: 'internal failure',
  503: 'the service is down for the moment',
  507: 'the disk is full',
}

/** What a plugin logs to: it owns no log. pino and console both fit. */
export interface Log {
  error(fields: object, message: string): void
  info(fields: object, message: string): void
}

export interface Failure {
  status: number
  message: string
  /** Seconds after which it is worth trying again. */
  retryAfter?: number | undefined
}

/** The request that failed, as the log has it. */
export interface FailedRequest {
  method: string
  /** Without what follows a question mark, which may be a secret. */
  path: string
  /** Where the host has given the request an id, its log and Allot's speak of the same one. */
  requestId?: string | undefined
}

export const failedRequest = (req: IncomingMessage, res: ServerResponse, path: string): FailedRequest => {
  const given = res.getHeader('x-request-id')
  return { method: req.method ?? '', path, requestId: typeof given === 'string' ? given : undefined }
}

/** The one translator. What is unknown is a 500 that says nothing of the inside; the log has it, under the same id. */
export const toFailure = (error: unknown, log: Log, failed: FailedRequest): Failure => {
  if (error instanceof AllotError) {
    const status = statuses[error.code]
    if (status === 503 && error.retryAfter !== undefined) logRefusal(error, log, failed)
    else if (status >= 500) log.error({ err: error, ...failed }, error.message)
    return { status, message: error.message, retryAfter: error.retryAfter }
  }
  const id = failed.requestId ?? randomUUID()
  log.error({ err: error, ...failed, requestId: id }, 'a request failed')
  return { status: 500, message: `an internal error occurred; the server's log has it as ${id}` }
}

/** Milliseconds between two lines of the log that say the same of clients that ask for too much. */
const REFUSAL_INTERVAL = 1000

interface Refusals {
  loggedAt: number
  count: number
}

const refusalsOf = new WeakMap<Log, Map<string, Refusals>>()

/** Clients that are refused because they ask for too much must not fill the log as well, nor keep the server busy with it. */
const logRefusal = ({ message }: AllotError, log: Log, failed: FailedRequest): void => {
  const byMessage = refusalsOf.get(log) ?? new Map<string, Refusals>()
  refusalsOf.set(log, byMessage)
  const refusals = byMessage.get(message) ?? { loggedAt: Number.NEGATIVE_INFINITY, count: 0 }
  byMessage.set(message, refusals)
  refusals.count++
  if (performance.now() - refusals.loggedAt < REFUSAL_INTERVAL) return
  log.error({ ...failed, refused: refusals.count }, message)
  Object.assign(refusals, { loggedAt: performance.now(), count: 0 })
}

/** A route for the signed-in that declares no 404 names nothing but them: what is gone is the account, deleted meanwhile. */
export const withDeclaredStatus = (
  error: unknown,
  route: Pick<Route, 'auth' | 'responses'> | undefined,
): unknown => {
  const isMissing = error instanceof AllotError && error.code === 'not_found'
  if (!isMissing || route === undefined || route.auth === 'optional' || 404 in route.responses) return error
  return new AllotError('unauthenticated', error.message, { cause: error })
}

interface ErrorResponseOptions {
  /** Whether 404 has a `{message,url}` body. */
  readonly notFoundBody: boolean
  readonly log: Log
}

/** The answers to requests that are not done. */
export const createErrorResponses = (
  options: ErrorResponseOptions,
  router: Pick<Router<never, never>, 'allowed' | 'find'>,
) => {
  const notFound = ({ res, baseUrl }: RequestContext, message: string): void =>
    options.notFoundBody ? sendJson(res, 404, { message, url: referenceOf(baseUrl) }) : sendEmpty(res, 404)

  const fail = (
    context: RequestContext,
    error: unknown,
    route?: Pick<Route, 'auth' | 'failure' | 'responses'>,
  ): void => {
    const { req, res, location, baseUrl } = context
    if (error instanceof ClientDisconnected) return void res.destroy()
    try {
      const { status, message, retryAfter } = toFailure(
        withDeclaredStatus(error, route),
        options.log,
        failedRequest(req, res, location.path),
      )
      // What has begun cannot be taken back: an answer that breaks off is no whole one.
      if (res.headersSent) return void res.destroy()
      if (status === 404) return notFound(context, message)
      const body = { message, url: referenceOf(baseUrl) }
      const own = failureOf(context, route)?.(message)
      sendJson(res, status, bodyOf(status, body, own), extraHeaders(status, retryAfter))
    } catch {
      // The host's own log threw: there is nobody left to tell, but the client must not wait for ever.
      res.destroy()
    }
  }

  /** Looked up by the path when the request failed before its route was known, as it does when its credentials cannot be read. */
  const failureOf = (
    { req, location }: RequestContext,
    route: Pick<Route, 'failure'> | undefined,
  ): Route['failure'] => {
    if (route !== undefined) return route.failure
    const match = router.find(req.method ?? 'GET', location.path)
    return typeof match === 'object' ? match.served.route.failure : undefined
  }

  const malformed = (context: RequestContext): void =>
    fail(context, new AllotError('bad_request', 'the path is not well encoded'))

  /** A path that is unknown, or does not take the method. */
  const unmatched = (context: RequestContext): void => {
    const { req, res, location, baseUrl } = context
    const allowed = router.allowed(location.path)
    if (allowed === 'malformed') return malformed(context)
    if (allowed.length === 0) return notFound(context, 'there is nothing at this path')
    const headers = ['Allow', allowed.join(', ')]
    if (req.method === 'OPTIONS') return sendEmpty(res, 204, headers)
    const message = `this path takes ${allowed.join(', ')}, not ${req.method}`
    sendJson(res, 405, { message, url: referenceOf(baseUrl) }, headers)
  }

  /** A moment later, for node:http may be about to find fault with the same request, and then answers itself. */
  const refuseConnection = (context: RequestContext, fault: AllotError): void => {
    context.res.shouldKeepAlive = false
    setImmediate(() => fail(context, fault))
  }

  return { fail, malformed, notFound, refuseConnection, unmatched }
}

/** A failure of the server has the route's own body alone; what the client can mend has the usual members as well. */
const bodyOf = (status: number, usual: object, own: object | undefined): object => {
  if (own === undefined) return usual
  return status >= 500 ? own : { ...own, ...usual }
}

/** The page that describes the API, which error bodies point to. */
const referenceOf = (baseUrl: string): string => baseUrl + REFERENCE_PATH

const extraHeaders = (status: number, retryAfter = status === 503 ? 1 : undefined): string[] =>
  retryAfter === undefined ? [] : ['Retry-After', String(retryAfter)]
