import { AllotError } from '../errors.ts'
import { ClientDisconnected } from './connection/disconnect.ts'
import type { RequestContext } from './context.ts'
import { failedRequest, type Log, toFailure, withDeclaredStatus } from './errors.ts'
import { REFERENCE_PATH } from './reference-page.ts'
import type { Route } from './route.ts'
import type { Router } from './router.ts'
import { sendEmpty, sendJson } from './send.ts'

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
