import type { RequestListener } from 'node:http'
import { Gauge, Histogram, type Registry } from 'prom-client'
import { gitRoutes } from '../../lib/api/git.ts'
import { routes } from '../../lib/api/index.ts'
import { createRouter } from '../../lib/http/router.ts'

/** In seconds. */
const BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60]

/** Other methods are counted as `other`: clients can invent methods, and must not invent labels. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** Wraps a listener, to measure the time until its response is sent or the connection is closed. */
export const measureRequests = (
  registry: Registry,
  basePath: string,
  listener: RequestListener,
): RequestListener => {
  const durations = new Histogram({
    name: 'allot_http_request_duration_seconds',
    help: 'Seconds until a response is sent, by route; the count is the number of requests.',
    labelNames: ['method', 'route', 'status'],
    buckets: BUCKETS,
    registers: [registry],
  })
  let inFlight = 0
  new Gauge({
    name: 'allot_http_requests_in_flight',
    help: 'Requests whose response is not sent yet.',
    registers: [registry],
    collect() {
      this.set(inFlight)
    },
  })
  const routeOf = routeNamer(basePath)
  // Saves prom-client the lookup of the labels at each request.
  const timers = new Map<string, Histogram.Internal<string>>()
  const timerOf = (method: string, route: string, status: string) => {
    const key = `${method} ${route} ${status}`
    let timer = timers.get(key)
    if (timer === undefined) {
      timer = durations.labels({ method, route, status })
      timers.set(key, timer)
    }
    return timer
  }
  return (req, res) => {
    const startedAt = performance.now()
    inFlight++
    // Read now: the router of a host may change them.
    const { method = 'GET', url = '/' } = req
    res.once('close', () => {
      inFlight--
      // The client may close the connection before the response has begun.
      const status = res.headersSent ? String(res.statusCode) : 'none'
      const timer = timerOf(METHODS.includes(method) ? method : 'other', routeOf(method, url), status)
      timer.observe((performance.now() - startedAt) / 1000)
    })
    listener(req, res)
  }
}

/** All web pages are one route here: each page is loaded when it is first requested. */
const PAGES = /^\/(?:-\/(?:storage|sign-in|sign-out)(?:\/|$)|$)/
const PROCESS_PATHS = ['/-/healthz', '/-/readyz', '/-/metrics']

const gitPaths = gitRoutes.map(({ path }) => ({
  path,
  pattern: new RegExp(`${path.replace(/\{\w+\}/g, '[^/]+')}$`),
}))

/** @returns the declared path of the route that answers a request; `none` when no route does */
const routeNamer = (basePath: string): ((method: string, url: string) => string) => {
  const router = createRouter(routes)
  return (method, url) => {
    const path = url.split('?', 1)[0]!
    if (PAGES.test(path)) return 'pages'
    if (path.startsWith('/-/')) return PROCESS_PATHS.find((known) => known === path) ?? 'none'
    const start = path.indexOf(`${basePath}/`)
    if (start === -1) return gitPaths.find(({ pattern }) => pattern.test(path))?.path ?? 'none'
    const match = router.find(method, path.slice(start + basePath.length))
    return typeof match === 'object' ? match.route.path : 'none'
  }
}
