import type { IncomingMessage } from 'node:http'
import { baseUrlOf, type RequestUrl } from '../http/request-url.ts'
import { type Brand, withWayBack } from '../options/pages.ts'
import { type BrowserSession, browserSessionOf, targetOf } from './session.tsx'

/** How the browser of a request reached the pages. */
export interface Visit {
  /** Origin that the browser knows, such as `https://git.example.org`. */
  readonly origin: string
  readonly isSecure: boolean
  /** Path at which the pages are mounted, without a slash at the end. */
  readonly mount: string
  /** URL of the service; unknown for pages that a host has mounted, unless it is configured. */
  readonly site: string | undefined
  readonly browser: BrowserSession
}

interface PageRequest {
  readonly req: IncomingMessage
  readonly url: RequestUrl
}

/** @throws AllotError bad_request for a malformed Host header */
export const newVisit = (
  { req, url: { mount } }: PageRequest,
  { baseUrl, trustedProxies }: { baseUrl?: string | undefined; trustedProxies: number },
): Visit => {
  const origin = baseUrl === undefined ? baseUrlOf(req, '', trustedProxies) : new URL(baseUrl).origin
  const address = { mount, origin, isSecure: origin.startsWith('https:') }
  const site = baseUrl ?? (mount === '' ? origin : undefined)
  return { ...address, site, browser: browserSessionOf(req, address) }
}

/** The host's pages to sign in and out, which lead back to a page, from a form to the first one. */
export const hostLinks = (
  { req, url: { path, search } }: PageRequest,
  { origin, mount }: Visit,
  { loginUrl, logoutUrl }: Brand,
) => {
  const here = req.method === 'POST' ? '/' : targetOf(search === '' ? path : `${path}?${search}`)
  const [login, logout] = [loginUrl, logoutUrl].map(
    (template) => template && withWayBack(template, origin, mount + here),
  )
  return { loginUrl: login, logoutUrl: logout }
}
