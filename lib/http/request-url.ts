import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { AllotError } from '../errors.ts'

/** Where a request points. */
export interface RequestUrl {
  /** Relative to the base path, still percent-encoded. */
  readonly path: string
  /** What follows the question mark. */
  readonly search: string
  /** What the host's framework has taken off the front, for the links of the answer. */
  readonly mount: string
}

/** The location of a request below the base path; undefined for any other. */
export const parseRequestUrl = (req: IncomingMessage, basePath: string): RequestUrl | undefined => {
  const url = originForm(req.url ?? '/')
  if (!url.startsWith(basePath)) return undefined
  const after = url.charCodeAt(basePath.length)
  if (!Number.isNaN(after) && after !== SLASH && after !== QUESTION_MARK) return undefined
  const mark = url.indexOf('?', basePath.length)
  const path = mark === -1 ? url.slice(basePath.length) : url.slice(basePath.length, mark)
  return {
    path: path === '' ? '/' : path,
    search: mark === -1 ? '' : url.slice(mark + 1),
    mount: mountOf(req, url),
  }
}

/** "a server MUST accept the absolute-form in requests" (RFC 9112, 3.2.2): proxies send it. */
export const originForm = (target: string): string =>
  target.charCodeAt(0) === SLASH ? target : target.replace(/^https?:\/\/[^/?#]*/i, '')

const SLASH = 47
const QUESTION_MARK = 63

/** Express and Connect keep the whole URL, and give the listener what follows its mount point. */
export const mountOf = (req: IncomingMessage, url: string): string => {
  const { originalUrl } = req as { originalUrl?: string }
  return originalUrl?.endsWith(url) ? originForm(originalUrl).slice(0, -url.length) : ''
}

/** Where the service is as this client reaches it, without a slash at the end. */
export const baseUrlOf = (req: IncomingMessage, mount: string): string => {
  const scheme = (req.socket as TLSSocket).encrypted ? 'https' : 'http'
  const host = req.headers.host ?? hostOf(req.socket)
  if (host !== lastHost) lastHost = checkedHost(host)
  return `${scheme}://${host}${mount}`
}

/** The one that was found to be well formed last: clients hardly ever name another. */
let lastHost: string | undefined

const checkedHost = (host: string): string => {
  if (HOST.test(host) && URL.canParse(`http://${host}`)) return host
  throw new AllotError('bad_request', 'the Host header is malformed')
}

/** An HTTP/1.0 client need not say whom it speaks to. */
const hostOf = ({ localAddress = 'localhost', localPort }: Socket): string => {
  const name = localAddress.includes(':') ? `[${localAddress}]` : localAddress
  return localPort === undefined ? name : `${name}:${localPort}`
}

const HOST = /^(?:[\w.-]{1,255}|\[[\da-fA-F:.]{2,45}\])(?::\d{1,5})?$/
