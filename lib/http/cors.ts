import type { IncomingMessage, ServerResponse } from 'node:http'
import { sendEmpty } from './send.ts'

/** Seconds for which browsers cache the response to a preflight. */
const MAX_AGE = '600'

/**
 * Adds the CORS headers that let pages of these origins (`*`: of every origin) read the response. Cookies are never allowed:
 * a page must send its credentials in the Authorization header.
 * @returns whether the request was a preflight, which has its response then
 */
export const allowOrigin = (
  req: IncomingMessage,
  res: ServerResponse,
  origins: readonly string[],
): boolean => {
  const { origin } = req.headers
  const any = origins.includes('*')
  if (!any) res.setHeader('Vary', 'Origin')
  if (origin === undefined || !(any || origins.includes(origin))) return false
  res.setHeader('Access-Control-Allow-Origin', any ? '*' : origin)
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
