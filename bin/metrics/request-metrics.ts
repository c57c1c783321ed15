import type { RequestListener } from 'node:http'
import { Gauge, Histogram } from 'prom-client'
import { routes, streamRoutesFor } from '../../lib/api/index.ts'
import { type Routed, Router } from '../../lib/http/router.ts'
import { streamRouter } from '../../lib/http/stream-endpoints.ts'
import { isSitePage } from '../../lib/web/index.ts'

/** Buckets of the histogram of requests, in seconds. */
const REQUEST_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60]

/** Other methods are counted as `other`: clients can invent methods, and must not invent labels. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** Wraps a listener, to measure the time until its response is sent or the connection is closed. */
export const measureRequests = (basePath: string, listener: RequestListener): RequestListener => {
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
  const routeOf = routeNamer(basePath)
  return (req, res) => {
    const stopTimer = durations.startTimer()
    inFlight.inc()
    // Read now: the router of a host may change them.
    const { method = 'GET', url = '/' } = req
    res.once('close', () => {
      inFlight.dec()
      // The client may close the connection before the response has begun.
      const status = res.headersSent ? String(res.statusCode) : 'none'
      stopTimer({ method: METHODS.includes(method) ? method : 'other', route: routeOf(method, url), status })
    })
    listener(req, res)
  }
}

/**
 * Paths of pages that do not begin with a name. All pages have the label `pages`: they are loaded when the
 * first is requested.
 */
const PAGES =
  /^\/(?:-\/(?:account|admin|attachments|set-password|settings|sign-in|sign-out|storage)(?:\/|$)|$)/
const PROCESS_PATHS = ['/-/healthz', '/-/readyz', '/-/metrics']

const streamRoutes = streamRoutesFor({ git: true, contents: true, lfs: true, packages: true, issues: true })

/** @returns the declared path of the route that answers a request; `none` when no route does */
const routeNamer = (basePath: string): ((method: string, url: string) => string) => {
  const json = new Router(routes)
  const streams = streamRouter<Routed>(streamRoutes)
  return (method, url) => {
    const path = url.split('?', 1)[0]!
    if (PAGES.test(path)) return 'pages'
    if (path.startsWith('/-/')) return PROCESS_PATHS.find((known) => known === path) ?? 'none'
    if (path.startsWith(`${basePath}/`))
      return json.match(method, path.slice(basePath.length))?.route.path ?? 'none'
    return isSitePage(path) ? 'pages' : (streams.match(method, path)?.route.path ?? 'none')
  }
}
