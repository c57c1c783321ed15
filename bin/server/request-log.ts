import { randomUUID } from 'node:crypto'
import type { IncomingMessage, RequestListener } from 'node:http'
import type { Log } from '../../lib/http/index.ts'

/** Ids that proxies send: a UUID, a hexadecimal number, a trace of several parts. Any other value is replaced. */
const REQUEST_ID = /^[\w.:-]{1,128}$/

const requestIdOf = ({ headers }: IncomingMessage): string => {
  const id = headers['x-request-id']
  return typeof id === 'string' && REQUEST_ID.test(id) ? id : randomUUID()
}

/** As proxies log it: the client closed the connection before the response was sent. */
const CLIENT_CLOSED_REQUEST = 499

/**
 * Logs a line for each request, with the id that the response and the log of its failure have. The query string, which can
 * hold secrets, and the headers are left out.
 */
export const withRequestLog =
  (log: Log, listener: RequestListener): RequestListener =>
  (req, res) => {
    const startedAt = performance.now()
    const requestId = requestIdOf(req)
    const { method, url = '' } = req
    const path = url.split('?', 1)[0]
    res.setHeader('X-Request-Id', requestId)
    res.once('close', () => {
      const ms = Math.round((performance.now() - startedAt) * 100) / 100
      const status = res.writableFinished ? res.statusCode : CLIENT_CLOSED_REQUEST
      log.info({ requestId, method, path, status, ms, from: req.socket.remoteAddress }, 'request')
    })
    listener(req, res)
  }
