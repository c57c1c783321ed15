import cluster from 'node:cluster'
import type { RequestListener } from 'node:http'
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { Allot } from '../../lib/allot.ts'
import { AllotError } from '../../lib/errors.ts'
import type { StorageDriver } from '../../lib/storage/index.ts'
import { VERSION } from '../../lib/version.ts'
import { answerText } from '../server/health.ts'
import { measureCaches } from './caches.ts'
import { authorizeMetrics, type MetricsReaders } from './metrics-auth.ts'
import { measuredListener } from './request-metrics.ts'
import { measuredDriver } from './store-metrics.ts'
import { workerMetrics } from './worker-metrics.ts'

export interface Metrics {
  /** The same driver, measured. */
  driver(driver: StorageDriver): StorageDriver
  /** The same listener, measured, with `/-/metrics` beside it. */
  listener(allot: Allot, listener: RequestListener): RequestListener
}

const STATUSES: Partial<Record<string, number>> = {
  unauthenticated: 401,
  forbidden: 403,
  too_many_requests: 429,
}

/** For one server in a process: it listens to what the caches of the whole process tell. Workers tell what all have counted. */
export const createMetrics = (readers: MetricsReaders, basePath: string): Metrics => {
  const registry = new Registry()
  const told = cluster.isWorker ? workerMetrics(registry) : () => registry.metrics()
  collectDefaultMetrics({ register: registry })
  measureCaches(registry)
  return {
    driver: (driver) => measuredDriver(registry, driver),
    listener(allot, listener) {
      measureQuota(registry, allot)
      measureAccounts(registry, allot)
      return measuredListener(registry, basePath, (req, res) => {
        if (req.url?.split('?', 1)[0] !== '/-/metrics') return listener(req, res)
        authorizeMetrics(allot, readers, req)
          .then(told)
          .then((text) => answerText(req, res, 200, text, { 'Content-Type': registry.contentType }))
          .catch((error) => {
            const status = error instanceof AllotError ? (STATUSES[error.code] ?? 503) : 503
            const challenge = status === 401 ? { 'WWW-Authenticate': 'Bearer realm="metrics"' } : {}
            answerText(
              req,
              res,
              status,
              `${status === 503 ? 'the store does not answer' : error.message}\n`,
              challenge,
            )
          })
      })
    },
  }
}

const measureQuota = (registry: Registry, allot: Allot): void => {
  const crossings = new Counter({
    name: 'allot_quota_crossings_total',
    help: "Owners who came over a rule's limit or near it (up), or back (down).",
    labelNames: ['at', 'direction'],
    registers: [registry],
  })
  allot.on('quota', ({ share, reached }) =>
    crossings.inc({ at: share === 1 ? 'limit' : 'near', direction: reached ? 'up' : 'down' }),
  )
}

const measureAccounts = (registry: Registry, { hosting }: Allot): void => {
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
    help: 'Which version runs: always 1.',
    aggregator: 'max',
    labelNames: ['version'],
    registers: [registry],
  }).set({ version: VERSION }, 1)
}
