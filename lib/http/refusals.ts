import { AllotError } from '../errors.ts'
import { asDeclared, failedOf, type Log, translate } from './errors.ts'
import type { Exchange } from './exchange.ts'
import { ClientGone } from './gone.ts'
import { REFERENCE_PATH } from './reference.ts'
import type { Route } from './route.ts'
import type { Router } from './router.ts'
import { sendEmpty, sendJson } from './send.ts'

interface RefusalOptions {
  /** Whether 404 has a `{message,url}` body. */
  readonly notFoundBody: boolean
  readonly log: Log
}

/** The answers to requests that are not done. */
export const createRefusals = (
  options: RefusalOptions,
  router: Pick<Router<never, never>, 'allowed' | 'find'>,
) => {
  const notFound = ({ res, baseUrl }: Exchange, message: string): void =>
    options.notFoundBody ? sendJson(res, 404, { message, url: referenceOf(baseUrl) }) : sendEmpty(res, 404)

  const fail = (
    exchange: Exchange,
    error: unknown,
    route?: Pick<Route, 'auth' | 'failure' | 'responses'>,
  ): void => {
    const { req, res, location, baseUrl } = exchange
    if (error instanceof ClientGone) return void res.destroy()
    try {
      const { status, message, retryAfter } = translate(
        asDeclared(error, route),
        options.log,
        failedOf(req, res, location.path),
      )
      // What has begun cannot be taken back: an answer that breaks off is no whole one.
      if (res.headersSent) return void res.destroy()
      if (status === 404) return notFound(exchange, message)
      const body = { message, url: referenceOf(baseUrl) }
      const own = failureOf(exchange, route)?.(message)
      sendJson(res, status, bodyOf(status, body, own), extraHeaders(status, retryAfter))
    } catch {
      // The host's own log threw: there is nobody left to tell, but the client must not wait for ever.
      res.destroy()
    }
  }

  /** Looked up by the path when the request failed before its route was known, as it does when its credentials cannot be read. */
  const failureOf = (
    { req, location }: Exchange,
    route: Pick<Route, 'failure'> | undefined,
  ): Route['failure'] => {
    if (route !== undefined) return route.failure
    const match = router.find(req.method ?? 'GET', location.path)
    return typeof match === 'object' ? match.served.route.failure : undefined
  }

  const malformed = (exchange: Exchange): void =>
    fail(exchange, new AllotError('bad_request', 'the path is not well encoded'))

  /** A path that is unknown, or does not take the method. */
  const unmatched = (exchange: Exchange): void => {
    const { req, res, location, baseUrl } = exchange
    const allowed = router.allowed(location.path)
    if (allowed === 'malformed') return malformed(exchange)
    if (allowed.length === 0) return notFound(exchange, 'there is nothing at this path')
    const headers = ['Allow', allowed.join(', ')]
    if (req.method === 'OPTIONS') return sendEmpty(res, 204, headers)
    const message = `this path takes ${allowed.join(', ')}, not ${req.method}`
    sendJson(res, 405, { message, url: referenceOf(baseUrl) }, headers)
  }

  /** A moment later, for node:http may be about to find fault with the same request, and then answers itself. */
  const refuseConnection = (exchange: Exchange, fault: AllotError): void => {
    exchange.res.shouldKeepAlive = false
    setImmediate(() => fail(exchange, fault))
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
