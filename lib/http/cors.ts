import type { IncomingMessage, ServerResponse } from 'node:http'
import { sendEmpty } from './send.ts'

/** Browsers ask again after so many seconds whether they may. */
const MAX_AGE = '600'

/**
 * Lets pages of the given origins read the answers (`*`: of every origin). Credentials are sent in the Authorization
 * header alone, which a page must know to send, so no cookie is ever allowed along.
 * @returns whether the request was a preflight, which is answered then.
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
