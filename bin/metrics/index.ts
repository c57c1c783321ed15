import cluster from 'node:cluster'
import type { IncomingMessage, RequestListener } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { Counter, collectDefaultMetrics, Gauge, register } from 'prom-client'
import type { OpenAllot } from '../../lib/allot.ts'
import { REASON_IN_LOG } from '../../lib/disk.ts'
import { AllotError } from '../../lib/errors.ts'
import { checkAccess } from '../../lib/http/access.ts'
import { type Log, logError } from '../../lib/http/index.ts'
import { StorageError } from '../../lib/storage/index.ts'
import { VERSION } from '../../lib/version.ts'
import type { Config } from '../config/config.ts'
import { sendText } from '../send-text.ts'
import { measureRequests } from './request-metrics.ts'
import { measureCaches } from './store-metrics.ts'
import { workerMetrics } from './worker-metrics.ts'

export { measureSsh } from './ssh-metrics.ts'
export { measureDriver } from './store-metrics.ts'
export { aggregateWorkers } from './worker-metrics.ts'

/**
 * Metrics of a server, for Prometheus: they are in the registry of the process. Each of several workers
 * answers with the sums over all of them.
 */

/**
 * Wraps a listener, to measure its requests and to add `/-/metrics`.
 * @param options.readers who may read the metrics, as the option `metrics` describes
 */
export const measureListener = (
  allot: OpenAllot,
  listener: RequestListener,
  { readers, basePath, log }: { readers: Config['server']['metrics']; basePath: string; log: Log },
): RequestListener => {
  const readMetrics = cluster.isWorker ? workerMetrics() : () => register.metrics()
  collectDefaultMetrics()
  measureCaches()
  measureQuota(allot)
  measureAccounts(allot, log)
  return measureRequests(basePath, (req, res) => {
    if (req.url?.split('?', 1)[0] !== '/-/metrics') return listener(req, res)
    authorize(allot, readers, req)
      .then(readMetrics)
      .then((text) => sendText(req, res, 200, text, { 'Content-Type': register.contentType }))
      .catch((error: unknown) => {
        const { status, message } = describeError(error)
        if (status === 503) logError(log, 'the metrics could not be read')(error)
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
  if (status !== undefined) return { status, message: (error as AllotError).message }
  if (error instanceof StorageError) return { status: 503, message: 'the store does not answer' }
  return { status: 503, message: `the server could not read the metrics${REASON_IN_LOG}` }
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
const PROXY_HEADERS = [
  ...['x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host'],
  ...['forwarded', 'via', 'x-real-ip', 'cf-connecting-ip'],
]

/** Whether the request comes from this machine, and no header shows that a proxy has forwarded it. */
const isLocal = ({ socket, headers }: IncomingMessage): boolean =>
  LOOPBACK.test(socket.remoteAddress ?? '') && PROXY_HEADERS.every((name) => headers[name] === undefined)

const measureQuota = (allot: OpenAllot): void => {
  const quotaEvents = new Counter({
    name: 'allot_quota_events_total',
    help: "Times that an owner's usage reached a rule's limit or came near to it (up), or fell below (down).",
    labelNames: ['at', 'direction'],
  })
  allot.on('quota', ({ share, reached }) =>
    quotaEvents.inc({ at: share === 1 ? 'limit' : 'near', direction: reached ? 'up' : 'down' }),
  )
}

/** Less than the time in which a worker must answer. */
const COUNT_TIMEOUT_MS = 1000

/** While the store fails or hangs, the gauge has no samples: the other metrics must still be read. */
const measureAccounts = ({ hosting }: OpenAllot, log: Log): void => {
  const onError = logError(log, 'the accounts could not be counted for the metrics')
  let isFailing = false
  const count = async () => ({
    user: await hosting.accounts.count('user'),
    organization: await hosting.accounts.count('organization'),
  })
  new Gauge({
    name: 'allot_accounts',
    help: 'Users and organizations.',
    aggregator: 'max',
    labelNames: ['kind'],
    async collect() {
      this.reset()
      try {
        const counts = await Promise.race([count(), setTimeout(COUNT_TIMEOUT_MS, {}, { ref: false })])
        for (const [kind, number] of Object.entries(counts)) this.set({ kind }, number)
        isFailing = false
      } catch (error) {
        if (!isFailing) onError(error)
        isFailing = true
      }
    },
  })
  new Gauge({
    name: 'allot_build_info',
    help: 'The running version, as a label; the value is always 1.',
    aggregator: 'max',
    labelNames: ['version'],
  }).set({ version: VERSION }, 1)
}
