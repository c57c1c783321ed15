/**
 * Who may call a route: credentials, administrator rights and scopes. The dispatcher checks it before a
 * handler runs; pages read a form first, for its CSRF token. And which pages may have a browser call it.
 */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { AllotError } from '../errors.ts'
import { requireScopes, type Scope } from '../scopes.ts'
import { EXPOSED_HEADERS } from './paging.ts'
import { sendEmpty } from './send.ts'

/**
 * Who sent a request, as far as access to routes depends on it. The scope `all` grants everything, and
 * `write:x` implies `read:x`.
 */
export interface Caller {
  readonly username: string
  readonly admin: boolean
  readonly scopes: ReadonlySet<string>
}

/**
 * `required`: 401 without credentials. `admin`: 401 without credentials, 403 for everyone but administrators.
 */
export type Auth = 'optional' | 'required' | 'admin'

/** Declares who may call a route. */
export interface AccessRule {
  /** `none`: the request is not even authenticated, so wrong credentials are not noticed. */
  readonly auth: Auth | 'none'
  /** Scopes that a request with credentials needs, all of them. */
  readonly scope?: Scope | readonly Scope[]
}

/** Messages of 401 and 403 for requests that lack a login or administrator rights. */
export interface AccessMessages {
  readonly unauthenticated: string
  readonly notAdmin: string
}

export const API_MESSAGES: AccessMessages = {
  unauthenticated: 'token is required',
  notAdmin: 'user should be the site admin',
}

/**
 * Checks scopes first, so that a token without the scope gets 403 wherever it is used.
 * @throws AllotError forbidden, unauthenticated
 */
export const checkAccess = (
  caller: Caller | null,
  rule: AccessRule,
  messages: AccessMessages = API_MESSAGES,
): void => {
  if (caller !== null) requireScopes(caller, rule)
  if (rule.auth === 'optional') return
  if (caller === null) throw new AllotError('unauthenticated', messages.unauthenticated)
  if (rule.auth === 'admin' && !caller.admin) throw new AllotError('forbidden', messages.notAdmin)
}

/** Seconds for which browsers cache the response to a preflight. */
const MAX_AGE = '600'

/**
 * Adds the CORS headers that let pages of these origins (`*`: of every origin) read the response. Cookies are
 * never allowed: a page must send its credentials in the Authorization header.
 * @returns whether the request was a preflight, which has been answered
 */
export const allowOrigin = (
  req: IncomingMessage,
  res: ServerResponse,
  origins: readonly string[],
): boolean => {
  // The host may have answered while the request waited for its turn.
  if (res.headersSent) return false
  const { origin } = req.headers
  const any = origins.includes('*')
  // The host may have set others.
  if (!any) res.appendHeader('Vary', 'Origin')
  if (origin === undefined || !(any || origins.includes(origin))) return false
  res.setHeader('Access-Control-Allow-Origin', any ? '*' : origin)
  res.setHeader('Access-Control-Expose-Headers', EXPOSED_HEADERS)
  const method = req.headers['access-control-request-method']
  if (req.method !== 'OPTIONS' || method === undefined) return false
  const headers = req.headers['access-control-request-headers']
  sendEmpty(res, 204, [
    'Access-Control-Allow-Methods',
    'GET, HEAD, POST, PUT, PATCH, DELETE',
    ...(headers === undefined ? [] : ['Access-Control-Allow-Headers', headers]),
    'Access-Control-Max-Age',
    MAX_AGE,
  ])
  return true
}

/** Content types of a request that a browser sends for the page of any site without asking (CORS). */
const SIMPLE = /^(?:$|text\/plain|multipart\/form-data|application\/x-www-form-urlencoded)/i

/**
 * Refuses a change that the page of another origin has a browser send. The browser may add credentials that
 * the page does not know: a session, the cookies of a host's login, and a password of HTTP Basic. It adds no
 * token.
 * @param baseUrl URL of the service as the browser sees it
 * @throws AllotError forbidden
 */
export const refuseForged = ({ method, headers }: IncomingMessage, baseUrl: string): void => {
  const { authorization = '' } = headers
  const hasToken = authorization !== '' && !/^\s*basic\b/i.test(authorization)
  if (method !== 'POST' || hasToken || !SIMPLE.test(headers['content-type'] ?? '')) return
  if (isFromAnotherOrigin(headers, baseUrl))
    throw new AllotError('forbidden', 'this form was sent by another site')
}

/** Browsers declare the origin of a form. Other clients send no credentials by themselves. */
const isFromAnotherOrigin = (headers: IncomingHttpHeaders, baseUrl: string): boolean => {
  const { origin, 'sec-fetch-site': site } = headers
  if (site !== undefined) return site !== 'same-origin'
  // Schemes are not compared: behind a proxy that terminates TLS they differ.
  return origin !== undefined && !(URL.canParse(origin) && new URL(origin).host === new URL(baseUrl).host)
}
