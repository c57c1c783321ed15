import cluster from 'node:cluster'
import type { IncomingMessage, RequestListener } from 'node:http'
import { collectDefaultMetrics, register } from 'prom-client'
import type { OpenAllot } from '../../lib/allot.ts'
import { REASON_IN_LOG } from '../../lib/disk.ts'
import { AllotError } from '../../lib/errors.ts'
import { checkAccess } from '../../lib/http/access.ts'
import { type Log, logError } from '../../lib/http/index.ts'
import { StorageError } from '../../lib/storage/index.ts'
import type { Config } from '../config/config.ts'
import { sendText } from '../send-text.ts'
import { measureRequests } from './request-metrics.ts'
import { workerMetrics } from './worker-metrics.ts'

export { aggregateWorkers } from './worker-metrics.ts'

/**
 * Metrics of a server, for Prometheus: those of its Allot (lib/metrics), of requests and of the process, in
 * the registry of the process. Each of several workers answers with the sums over all of them.
 */

/**
 * Wraps a listener, to measure its requests and to add `/-/metrics`.
 * @param options.readers who may read the metrics, as the option `metrics` describes
 */
export const measureListener = async (
  allot: OpenAllot,
  listener: RequestListener,
  { readers, log }: { readers: Config['server']['metrics']; log: Log },
): Promise<RequestListener> => {
  const readMetrics = cluster.isWorker ? workerMetrics() : () => register.metrics()
  collectDefaultMetrics()
  await allot.metrics(register)
  return measureRequests((req, res) => {
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
