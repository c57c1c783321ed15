import type { IncomingMessage, RequestListener } from 'node:http'
import { Gauge, Histogram } from 'prom-client'
import { routeOfRequest } from '../../lib/http/log.ts'

/** Buckets of the histogram of requests, in seconds. */
const REQUEST_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60]

/** Other methods are counted as `other`: clients can invent methods, and must not invent labels. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** Wraps a listener, to measure the time until its response is sent or the connection is closed. */
export const measureRequests = (listener: RequestListener): RequestListener => {
  const durations = new Histogram({
    name: 'allot_http_request_duration_seconds',
    help: 'Seconds until a response is sent, by route; the count is the number of requests.',
    labelNames: ['method', 'route', 'status'],
    buckets: REQUEST_BUCKETS,
  })
  const inFlight = new Gauge({
    name: 'allot_http_requests_in_flight',
    help: 'Requests whose response is not sent yet.',
  })
  return (req, res) => {
    const stopTimer = durations.startTimer()
    inFlight.inc()
    // Read now: the router of a host may change them.
    const { method = 'GET', url = '/' } = req
    res.once('close', () => {
      inFlight.dec()
      // The client may close the connection before the response has begun.
      const status = res.headersSent ? String(res.statusCode) : 'none'
      stopTimer({ method: METHODS.includes(method) ? method : 'other', route: routeOf(req, url), status })
    })
    listener(req, res)
  }
}

const PROCESS_PATHS = ['/-/healthz', '/-/readyz', '/-/metrics']

/**
 * @returns the declared path of the route that has answered a request, `pages` for each page, or the path of
 * a check of the process; `none` when no route did
 */
const routeOf = (req: IncomingMessage, url: string): string => {
  const path = url.split('?', 1)[0]!
  return routeOfRequest(req) ?? (PROCESS_PATHS.includes(path) ? path : 'none')
}
