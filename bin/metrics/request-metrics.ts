import type { RequestListener } from 'node:http'
import { Gauge, Histogram, type Registry } from 'prom-client'
import { gitRoutes } from '../../lib/api/git.ts'
import { routes } from '../../lib/api/index.ts'
import { createRouter } from '../../lib/http/router.ts'

const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60]

/** Anyone may invent methods and paths; what is counted must stay as few as the routes are. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

const gitPaths = gitRoutes.map(({ path }) => ({
  path,
  pattern: new RegExp(`${path.replace(/\{\w+\}/g, '[^/]+')}$`),
}))

/** The declared path of what was asked for; `none` where no route is. */
export const routeNamer = (basePath: string): ((method: string, url: string) => string) => {
  const router = createRouter(routes)
  return (method, url) => {
    const path = url.split('?', 1)[0]!
    if (PAGES.test(path)) return 'pages'
    if (path.startsWith('/-/')) return WATCHED.find((one) => one === path) ?? 'none'
    const at = path.indexOf(`${basePath}/`)
    if (at === -1) return gitPaths.find(({ pattern }) => pattern.test(path))?.path ?? 'none'
    const match = router.find(method, path.slice(at + basePath.length))
    return typeof match === 'object' ? match.served.route.path : 'none'
  }
}
/** What people look at is one thing here: each of the pages is loaded when it is first asked for. */
const PAGES = /^\/(?:-\/(?:storage|sign-in|sign-out)(?:\/|$)|$)/
const WATCHED = ['/-/healthz', '/-/readyz', '/-/metrics']

/** The same listener, and how long its answers take until they are out, or given up. */
export const measuredListener = (
  registry: Registry,
  basePath: string,
  listener: RequestListener,
): RequestListener => {
  const time = new Histogram({
    name: 'allot_http_request_duration_seconds',
    help: 'Seconds until an answer is out, by route; its count is that of the requests.',
    labelNames: ['method', 'route', 'status'],
    buckets: SECONDS,
    registers: [registry],
  })
  let open = 0
  new Gauge({
    name: 'allot_http_requests_in_flight',
    help: 'Requests whose answer is not out yet.',
    registers: [registry],
    collect() {
      this.set(open)
    },
  })
  const nameOf = routeNamer(basePath)
  // What is labelled once need not be looked for among all labels at each request.
  const timers = new Map<string, Histogram.Internal<string>>()
  const timerOf = (method: string, route: string, status: string) => {
    const key = `${method} ${route} ${status}`
    let timer = timers.get(key)
    if (timer === undefined) {
      timer = time.labels({ method, route, status })
      timers.set(key, timer)
    }
    return timer
  }
  return (req, res) => {
    const begun = performance.now()
    open++
    // A host's router may change them on the way.
    const { method = 'GET', url = '/' } = req
    res.once('close', () => {
      open--
      // Whoever goes before the answer has begun is not answered.
      const status = res.headersSent ? String(res.statusCode) : 'none'
      const timer = timerOf(METHODS.includes(method) ? method : 'other', nameOf(method, url), status)
      timer.observe((performance.now() - begun) / 1000)
    })
    listener(req, res)
  }
}
