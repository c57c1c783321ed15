import type { IncomingMessage } from 'node:http'
import { baseUrlOf, mountOf, originForm } from '../http/request-url.ts'

/** Where a request of a page points, and how the visitor's browser got there. */
export interface PageUrl {
  /** Among the pages. */
  readonly path: string
  readonly query: URLSearchParams
  /** Where the pages are in the host, without a slash at the end. */
  readonly mount: string
  /** Such as `https://git.example.org`. */
  readonly origin: string
  readonly isSecure: boolean
  /** Where the service is; unknown to pages that a host has put somewhere, unless it is configured. */
  readonly site: string | undefined
}

export const requestPath = (req: IncomingMessage): string => targetOf(req).split('?', 1)[0]!

/** @throws AllotError bad_request for a malformed Host header */
export const pageUrl = (req: IncomingMessage, baseUrl: string | undefined): PageUrl => {
  const target = targetOf(req)
  const mark = target.indexOf('?')
  const mount = mountIn(req, target)
  const origin = baseUrl === undefined ? baseUrlOf(req, '') : new URL(baseUrl).origin
  return {
    path: requestPath(req),
    query: new URLSearchParams(mark === -1 ? '' : target.slice(mark + 1)),
    mount,
    origin,
    isSecure: origin.startsWith('https:'),
    site: baseUrl ?? (mount === '' ? origin : undefined),
  }
}

/** A host that has taken off all there was may leave nothing, or a question mark alone. */
const targetOf = (req: IncomingMessage): string => {
  const target = originForm(req.url ?? '/')
  return target.startsWith('/') ? target : `/${target}`
}

/** Express says `/` for `/storage`, too, where it is mounted there. */
const mountIn = (req: IncomingMessage, target: string): string => {
  const { originalUrl } = req as { originalUrl?: string }
  const [whole] = originForm(originalUrl ?? '').split('?', 1)
  const isBare = requestPath(req) === '/' && whole !== '' && !whole!.endsWith('/')
  return isBare ? whole! : mountOf(req, target)
}
