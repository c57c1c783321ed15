import { randomUUID } from 'node:crypto'
import type { IncomingMessage, RequestListener } from 'node:http'
import type { Log } from '../../lib/http/index.ts'

/** What proxies give: a UUID, a number in hexadecimal, a trace of a few parts. Nothing else comes into the log. */
const SANE = /^[\w.:-]{1,128}$/

const idOf = ({ headers }: IncomingMessage): string => {
  const given = headers['x-request-id']
  return typeof given === 'string' && SANE.test(given) ? given : randomUUID()
}

/**
 * A line for each request, under an id that its answer has, too, and what is logged of its failure. What comes after the
 * question mark may be a secret, and is left out; of the headers there is the address alone.
 */
export const withRequestLog =
  (log: Log, listener: RequestListener): RequestListener =>
  (req, res) => {
    const begun = performance.now()
    const requestId = idOf(req)
    const { method, url = '' } = req
    const path = url.split('?', 1)[0]
    res.setHeader('X-Request-Id', requestId)
    res.once('close', () => {
      const ms = Math.round((performance.now() - begun) * 100) / 100
      // Gone before the answer was out: 499, as proxies have it.
      const status = res.writableFinished ? res.statusCode : 499
      log.info({ requestId, method, path, status, ms, from: req.socket.remoteAddress }, 'request')
    })
    listener(req, res)
  }
