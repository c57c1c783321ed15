import { randomUUID } from 'node:crypto'
import type { IncomingMessage, RequestListener } from 'node:http'
import type { Server } from 'node:net'
import type { Allot } from '../../lib/allot.ts'
import { addressOf } from '../../lib/clients.ts'
import { movedStatus } from '../../lib/http/former-names.ts'
import { type Log, sendEmpty } from '../../lib/http/index.ts'
import { userOfRequest } from '../../lib/http/log.ts'
import { baseUrlOf, isPathBelow, originForm, parseRequestUrl } from '../../lib/http/request-url.ts'
import { sendText } from '../send-text.ts'

/**
 * Adds the health checks of the process. `/-/healthz` answers 200 while the process answers at all.
 * `/-/readyz` answers 200 while the store could also write, and otherwise 503: send traffic elsewhere; a
 * restart would not help.
 */
export const withHealthChecks =
  (allot: Pick<Allot, 'ready'>, listener: RequestListener): RequestListener =>
  (req, res) => {
    if (!req.url?.startsWith('/-/')) return listener(req, res)
    const path = req.url.split('?', 1)[0]
    if (path === '/-/healthz') return sendText(req, res, 200, 'alive\n')
    if (path !== '/-/readyz') return listener(req, res)
    allot
      .ready()
      .then((ready) =>
        ready ? sendText(req, res, 200, 'ready\n') : sendText(req, res, 503, 'the store takes no writes\n'),
      )
  }

/**
 * Ids that proxies send: a UUID, a hexadecimal number, a trace of several parts. Any other value is replaced.
 */
const REQUEST_ID = /^[\w.:-]{1,128}$/

const requestIdOf = ({ headers }: IncomingMessage): string => {
  const id = headers['x-request-id']
  return typeof id === 'string' && REQUEST_ID.test(id) ? id : randomUUID()
}

/** The status that proxies log when the client closed the connection before the response was sent. */
const CLIENT_CLOSED_REQUEST = 499

/**
 * Logs a line for each request, with its user, and the id that the response and the log of its failure have.
 * The query string, which can hold secrets, and the headers are left out.
 */
export const withRequestLog =
  (log: Log, trustedProxies: number, listener: RequestListener): RequestListener =>
  (req, res) => {
    const from = addressOf(req, trustedProxies)
    const startedAt = performance.now()
    const requestId = requestIdOf(req)
    const { method, url = '' } = req
    const path = url.split('?', 1)[0]
    res.setHeader('X-Request-Id', requestId)
    res.once('close', () => {
      const ms = Math.round((performance.now() - startedAt) * 100) / 100
      const status = res.writableFinished ? res.statusCode : CLIENT_CLOSED_REQUEST
      log.info({ requestId, method, path, status, ms, from, user: userOfRequest(req) }, 'request')
    })
    listener(req, res)
  }

/**
 * Serves below the path of a public URL, whether a proxy has removed that path or not. As in Express, `url`
 * is what follows the path, and `originalUrl` the whole; neither is in the absolute form.
 */
export const belowPathOf = (baseUrl: string | undefined, listener: RequestListener): RequestListener => {
  const path = baseUrl === undefined ? '' : new URL(baseUrl).pathname.replace(/\/$/, '')
  return (req, res) => {
    const url = originForm(req.url ?? '/')
    const isWhole = isPathBelow(url, path)
    const rest = isWhole ? url.slice(path.length).replace(/^(?!\/)/, '/') : url
    Object.assign(req, { url: rest, originalUrl: isWhole ? url : path + url })
    listener(req, res)
  }
}

/**
 * Redirects each request to the same URL with https.
 * @param baseUrl public URL of the server; without one of https, the host name of the request is used
 * @param port of https, for that host name
 */
export const redirectToHttps = (baseUrl = '', port: string): RequestListener => {
  const publicUrl = baseUrl.startsWith('https:') ? new URL(baseUrl) : undefined
  const httpsUrl = (req: IncomingMessage) =>
    publicUrl ?? Object.assign(new URL(baseUrlOf(req, '', 0)), { protocol: 'https:', port })
  return (req, res) => {
    const url = parseRequestUrl(req, '')
    if (url === undefined) return sendEmpty(res, 400)
    try {
      const location = httpsUrl(req).origin + url.path + (url.search && `?${url.search}`)
      sendEmpty(res, movedStatus(req.method), ['Location', location])
    } catch {
      // The Host header is malformed.
      sendEmpty(res, 400)
    }
  }
}

const YEAR_SECONDS = 31_536_000

/** Tells browsers to use https only. Certificates that are wrong then cannot be accepted by a click. */
export const withStrictTransport =
  (listener: RequestListener): RequestListener =>
  (req, res) => {
    res.setHeader('Strict-Transport-Security', `max-age=${YEAR_SECONDS}`)
    listener(req, res)
  }

/** A host as URLs have it: an IPv6 address is in brackets. */
export const inUrl = (host: string): string => (host.includes(':') ? `[${host}]` : host)

/** @param advice what to do when the port cannot be used */
export const listen = (server: Server, port: number, host: string, advice: string): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const fault = LISTEN_FAULTS[error.code ?? '']
      reject(fault === undefined ? error : new Error(fault({ host, port, advice })))
    })
    server.listen(port, host, resolve)
  })

interface Address {
  host: string
  port: number
  advice: string
}

const noSuchHost = ({ host }: Address) =>
  `this machine has no address ${host}: choose one of its own with --host, such as 127.0.0.1, or 0.0.0.0 for all of them`

const LISTEN_FAULTS: Partial<Record<string, (address: Address) => string>> = {
  EADDRINUSE: ({ host, port, advice }) => `port ${port} of ${host} is in use: ${advice}`,
  EACCES: ({ host, port, advice }) =>
    `port ${port} of ${host} needs root or the capability CAP_NET_BIND_SERVICE: ${advice}`,
  EADDRNOTAVAIL: noSuchHost,
  ENOTFOUND: noSuchHost,
  EAI_AGAIN: noSuchHost,
}
