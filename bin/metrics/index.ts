import cluster from 'node:cluster'
import type { IncomingMessage, RequestListener } from 'node:http'
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { OpenAllot } from '../../lib/allot.ts'
import { AllotError } from '../../lib/errors.ts'
import { checkAccess } from '../../lib/http/route.ts'
import type { StorageDriver } from '../../lib/storage/index.ts'
import { VERSION } from '../../lib/version.ts'
import { sendText } from '../server/listeners.ts'
import { measureCaches, measureRequests, measureTransactions } from './collectors.ts'
import { workerMetrics } from './worker-metrics.ts'

/**
 * Metrics of one server, for Prometheus. A process can have only one: the counters of caches are those of the process. Each
 * of several workers answers with the sums over all of them.
 */
export interface Metrics {
  /** Wraps a driver, to measure its transactions. */
  measureDriver(driver: StorageDriver): StorageDriver
  /** Wraps a listener, to measure its requests and to add `/-/metrics`. */
  measureListener(allot: OpenAllot, listener: RequestListener): RequestListener
}

/** Who may read the metrics, as the option `metrics` describes. */
type MetricsReaders = 'token' | 'loopback'

export const createMetrics = (readers: MetricsReaders, basePath: string): Metrics => {
  const registry = new Registry()
  const readMetrics = cluster.isWorker ? workerMetrics(registry) : () => registry.metrics()
  collectDefaultMetrics({ register: registry })
  measureCaches(registry)
  return {
    measureDriver: (driver) => measureTransactions(registry, driver),
    measureListener(allot, listener) {
      measureQuota(registry, allot)
      measureAccounts(registry, allot)
      return measureRequests(registry, basePath, (req, res) => {
        if (req.url?.split('?', 1)[0] !== '/-/metrics') return listener(req, res)
        authorize(allot, readers, req)
          .then(readMetrics)
          .then((text) => sendText(req, res, 200, text, { 'Content-Type': registry.contentType }))
          .catch((error: unknown) => {
            const { status, message } = describeError(error)
            const challenge = status === 401 ? { 'WWW-Authenticate': 'Bearer realm="metrics"' } : {}
            sendText(req, res, status, `${message}\n`, challenge)
          })
      })
    },
  }
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
  readers: MetricsReaders,
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

const measureQuota = (registry: Registry, allot: OpenAllot): void => {
  const thresholdEvents = new Counter({
    name: 'allot_quota_crossings_total',
    help: "Owners whose usage rose above a rule's limit or near to it (up), or fell below (down).",
    labelNames: ['at', 'direction'],
    registers: [registry],
  })
  allot.on('quota', ({ share, reached }) =>
    thresholdEvents.inc({ at: share === 1 ? 'limit' : 'near', direction: reached ? 'up' : 'down' }),
  )
}

const measureAccounts = (registry: Registry, { hosting }: OpenAllot): void => {
  new Gauge({
    name: 'allot_accounts',
    help: 'Users and organizations.',
    aggregator: 'max',
    labelNames: ['kind'],
    registers: [registry],
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
    registers: [registry],
  }).set({ version: VERSION }, 1)
}
