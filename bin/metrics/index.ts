import cluster from 'node:cluster'
import { subscribe } from 'node:diagnostics_channel'
import type { IncomingMessage, RequestListener } from 'node:http'
import { Counter, collectDefaultMetrics, Gauge, Histogram, register } from 'prom-client'
import type { OpenAllot } from '../../lib/allot.ts'
import { routes, streamRoutesFor } from '../../lib/api/index.ts'
import { nameOfCache } from '../../lib/caches.ts'
import { AllotError } from '../../lib/errors.ts'
import { checkAccess } from '../../lib/http/access.ts'
import { type Routed, Router } from '../../lib/http/router.ts'
import { streamRouter } from '../../lib/http/stream-endpoints.ts'
import { type StorageDriver, StorageError } from '../../lib/storage/index.ts'
import { VERSION } from '../../lib/version.ts'
import { isSitePage } from '../../lib/web/index.ts'
import type { Config } from '../config/config.ts'
import { sendText } from '../send-text.ts'
import { workerMetrics } from './worker-metrics.ts'

export { measureSsh } from './ssh-metrics.ts'
export { aggregateWorkers } from './worker-metrics.ts'

/**
 * Metrics of a server, for Prometheus: they are in the registry of the process. Each of several workers answers with the
 * sums over all of them.
 *
 * Wraps a listener, to measure its requests and to add `/-/metrics`.
 * @param options.readers who may read the metrics, as the option `metrics` describes
 */
export const measureListener = (
  allot: OpenAllot,
  listener: RequestListener,
  { readers, basePath }: { readers: Config['server']['metrics']; basePath: string },
): RequestListener => {
  const readMetrics = cluster.isWorker ? workerMetrics() : () => register.metrics()
  collectDefaultMetrics()
  measureCaches()
  measureQuota(allot)
  measureAccounts(allot)
  return measureRequests(basePath, (req, res) => {
    if (req.url?.split('?', 1)[0] !== '/-/metrics') return listener(req, res)
    authorize(allot, readers, req)
      .then(readMetrics)
      .then((text) => sendText(req, res, 200, text, { 'Content-Type': register.contentType }))
      .catch((error: unknown) => {
        const { status, message } = describeError(error)
        const challenge = status === 401 ? { 'WWW-Authenticate': 'Bearer realm="metrics"' } : {}
        sendText(req, res, status, `${message}\n`, challenge)
      })
  })
}

const STATUSES: Partial<Record<string, number>> = {
  unauthenticated: 401,
  forbidden: 403,
  too_many_requests: 429,
}

const describeError = (error: unknown): { status: number; message: string } => {
  const status = error instanceof AllotError ? STATUSES[error.code] : undefined
  return status === undefined
    ? { status: 503, message: 'the store does not answer' }
    : { status, message: (error as AllotError).message }
}

const ADMINISTRATION = { auth: 'admin', scope: 'read:admin' } as const

/** @throws AllotError unauthenticated or forbidden when the client may not read metrics */
const authorize = async (
  { hosting }: OpenAllot,
  readers: Config['server']['metrics'],
  req: IncomingMessage,
): Promise<void> => {
  if (readers === 'loopback' && req.headers.authorization === undefined && isLocal(req)) return
  const identity = await hosting.identities.authenticate(req)
  if (identity === null) throw new AllotError('unauthenticated', 'metrics are for administrators')
  checkAccess(identity, ADMINISTRATION)
}

const LOOPBACK = /^(?:::ffff:)?127\.|^::1$/
const PROXY_HEADERS = ['x-forwarded-for', 'forwarded', 'via', 'x-real-ip', 'cf-connecting-ip']

/** Whether the request comes from this machine, and no header shows that a proxy has forwarded it. */
const isLocal = ({ socket, headers }: IncomingMessage): boolean =>
  LOOPBACK.test(socket.remoteAddress ?? '') && PROXY_HEADERS.every((name) => headers[name] === undefined)

const measureQuota = (allot: OpenAllot): void => {
  const quotaEvents = new Counter({
    name: 'allot_quota_events_total',
    help: "Owners whose usage rose above a rule's limit or near to it (up), or fell below (down).",
    labelNames: ['at', 'direction'],
  })
  allot.on('quota', ({ share, reached }) =>
    quotaEvents.inc({ at: share === 1 ? 'limit' : 'near', direction: reached ? 'up' : 'down' }),
  )
}

const measureAccounts = ({ hosting }: OpenAllot): void => {
  new Gauge({
    name: 'allot_accounts',
    help: 'Users and organizations.',
    aggregator: 'max',
    labelNames: ['kind'],
    async collect() {
      for (const kind of ['user', 'organization'] as const)
        this.set({ kind }, await hosting.accounts.count(kind))
    },
  })
  new Gauge({
    name: 'allot_build_info',
    help: 'The running version, as a label; the value is always 1.',
    aggregator: 'max',
    labelNames: ['version'],
  }).set({ version: VERSION }, 1)
}

/** Buckets of the histogram of requests, in seconds. */
const REQUEST_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60]

/** Other methods are counted as `other`: clients can invent methods, and must not invent labels. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** Wraps a listener, to measure the time until its response is sent or the connection is closed. */
const measureRequests = (basePath: string, listener: RequestListener): RequestListener => {
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

/** Paths of pages that do not begin with a name. All pages have the label `pages`: they are loaded when the first is requested. */
const PAGES =
  /^\/(?:-\/(?:account|admin|attachments|avatars|set-password|settings|sign-in|sign-out|storage)(?:\/|$)|$)/
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
    // The page of a package is a stream, too, for servers without pages.
    return isSitePage(path) ? 'pages' : (streams.match(method, path)?.route.path ?? 'none')
  }
}

type Operation = 'read' | 'write'

/** Buckets of the histogram of transactions, in seconds. A warm LevelDB needs 20 µs. */
const TRANSACTION_BUCKETS = [0.00002, 0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5, 10]

/** Wraps a driver, to measure its transactions. */
export const measureDriver = (driver: StorageDriver): StorageDriver => {
  const durations = new Histogram({
    name: 'allot_store_operation_duration_seconds',
    help: 'Seconds that transactions of the store take.',
    labelNames: ['operation'],
    buckets: TRANSACTION_BUCKETS,
  })
  const failures = new Counter({
    name: 'allot_store_failures_total',
    help: 'Transactions that failed in the store itself, by reason.',
    labelNames: ['operation', 'reason'],
  })
  const inFlight = new Gauge({
    name: 'allot_store_operations_in_flight',
    help: 'Transactions in progress.',
    labelNames: ['operation'],
  })
  const measure = async <T>(operation: Operation, run: () => Promise<T>): Promise<T> => {
    const stopTimer = durations.startTimer({ operation })
    inFlight.inc({ operation })
    try {
      return await run()
    } catch (error) {
      if (error instanceof StorageError) failures.inc({ operation, reason: error.reason })
      throw error
    } finally {
      inFlight.dec({ operation })
      stopTimer()
    }
  }
  return {
    name: driver.name,
    shared: driver.shared,
    folder: driver.folder,
    open: () => driver.open(),
    read: (body, options) => measure('read', () => driver.read(body, options)),
    write: (body) => measure('write', () => driver.write(body)),
    close: () => driver.close(),
  }
}

/** The messages of lru-cache on its diagnostics channel. It publishes only while there are subscribers. */
interface CacheEvent {
  op?: string
  get?: 'hit' | 'miss' | 'fetching'
  cache?: { size: number }
}

const measureCaches = (): void => {
  const lookups = new Counter({
    name: 'allot_cache_requests_total',
    help: 'Lookups in the named caches, by outcome.',
    labelNames: ['cache', 'outcome'],
  })
  const caches = new Map<{ size: number }, ReturnType<typeof countersOf>>()
  const countersOf = (name: string) => {
    const counters = { name, hit: lookups.labels(name, 'hit'), miss: lookups.labels(name, 'miss') }
    counters.hit.inc(0)
    counters.miss.inc(0)
    return counters
  }
  new Gauge({
    name: 'allot_cache_entries',
    help: 'Entries in the caches.',
    labelNames: ['cache'],
    collect() {
      for (const [{ size }, { name }] of caches) this.set({ cache: name }, size)
    },
  })
  subscribe('lru-cache:metrics', (message) => {
    const { op, get, cache } = message as CacheEvent
    const name = op === 'get' && cache !== undefined ? nameOfCache(cache) : undefined
    if (cache === undefined || name === undefined) return
    const counters = caches.get(cache) ?? countersOf(name)
    caches.set(cache, counters)
    counters[get === 'hit' ? 'hit' : 'miss'].inc()
  })
}
