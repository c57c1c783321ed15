import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { forwardedOf } from '../clients.ts'
import { AllotError } from '../errors.ts'

export interface RequestUrl {
  /** Relative to the base path, still percent-encoded. */
  readonly path: string
  /** Query string without its question mark. */
  readonly search: string
  /** Path at which the host has mounted the listener, without a slash at the end. */
  readonly mount: string
}

/** Paths at which `mountListener` serves requests. Express and Connect strip theirs from `url` instead. */
const mountPaths = new WeakMap<IncomingMessage, string>()

export const setMountPath = (req: IncomingMessage, path: string): void => void mountPaths.set(req, path)

/** @returns undefined for a URL that is not below the base path */
export const parseRequestUrl = (req: IncomingMessage, basePath: string): RequestUrl | undefined => {
  const mountPath = mountPaths.get(req) ?? ''
  const url = originForm(req.url ?? '/')
  const base = mountPath + basePath
  if (!isPathBelow(url, base)) return undefined
  const mark = url.indexOf('?', base.length)
  const path = mark === -1 ? url.slice(base.length) : url.slice(base.length, mark)
  return {
    path: path === '' ? '/' : path,
    search: mark === -1 ? '' : url.slice(mark + 1),
    mount: mountOf(req, url) + mountPath,
  }
}

/**
 * Whether the URL of a request is a path or below it.
 * @param path without a slash at its end
 */
export const isBelow = (req: IncomingMessage, path: string): boolean =>
  isPathBelow(originForm(req.url ?? '/'), path)

/**
 * Whether a URL is a path or below it.
 * @param path without a slash at its end
 */
export const isPathBelow = (url: string, path: string): boolean => {
  if (!url.startsWith(path)) return false
  const after = url.charCodeAt(path.length)
  return Number.isNaN(after) || after === SLASH || after === QUESTION_MARK
}

/** Whether a person sees the response: a browser opens the URL. */
export const isPageView = ({ method, headers }: IncomingMessage): boolean =>
  (method === 'GET' || method === 'HEAD') && headers.accept?.includes('text/html') === true

/** Proxies send the absolute form, which servers must accept (RFC 9112 §3.2.2). */
export const originForm = (target: string): string =>
  target.charCodeAt(0) === SLASH ? target : target.replace(/^https?:\/\/[^/?#]*/i, '')

const SLASH = 47
const QUESTION_MARK = 63

/** Express and Connect keep the whole URL in `originalUrl`, and cut the mount point off `url`. */
const mountOf = (req: IncomingMessage, url: string): string => {
  const { originalUrl } = req as { originalUrl?: string }
  if (originalUrl === undefined) return ''
  const target = url.startsWith('/') ? url : `/${url}`
  const original = originForm(originalUrl)
  const [path] = original.split('?', 1) as [string]
  // For a listener that is mounted at `/storage`, Express says `/` for `/storage` too.
  if (/^\/(?:\?|$)/.test(target) && !path.endsWith('/')) return path
  return original.endsWith(target) ? original.slice(0, -target.length) : ''
}

/**
 * URL of the service as the client reaches it, without a slash at the end.
 * @param proxies number of reverse proxies in front of this server, whose `X-Forwarded-Proto` and
 * `X-Forwarded-Host` are trusted
 * @throws AllotError bad_request for a malformed Host or X-Forwarded-Host header
 */
export const baseUrlOf = (req: IncomingMessage, mount: string, proxies: number): string => {
  const proto = forwardedOf(req, 'x-forwarded-proto', proxies).toLowerCase()
  const scheme = SCHEMES.includes(proto) ? proto : (req.socket as TLSSocket).encrypted ? 'https' : 'http'
  const forwarded = forwardedOf(req, 'x-forwarded-host', proxies)
  const host =
    forwarded ||
    // HTTP/2 has no Host header.
    (req.headers.host ?? (req.headers[':authority'] as string | undefined) ?? authorityOf(req.socket))
  if (host !== lastHost) lastHost = checkedHost(host, forwarded === '' ? 'Host' : 'X-Forwarded-Host')
  return `${scheme}://${host}${mount}`
}

const SCHEMES = ['http', 'https']

/** The last valid host, so that the same one is not checked at each request. */
let lastHost: string | undefined

const checkedHost = (host: string, header: string): string => {
  if (HOST.test(host) && URL.canParse(`http://${host}`)) return host
  throw new AllotError('bad_request', `the ${header} header is malformed`)
}

/** HTTP/1.0 clients may leave out the Host header. */
const authorityOf = ({ localAddress = 'localhost', localPort }: Socket): string => {
  const name = localAddress.includes(':') ? `[${localAddress}]` : localAddress
  return localPort === undefined ? name : `${name}:${localPort}`
}

const HOST = /^(?:[\w.-]{1,255}|\[[\da-fA-F:.]{2,45}\])(?::\d{1,5})?$/
