/**
 * The page that describes the API at {@link REFERENCE_PATH}. Listeners offer it the requests that no route
 * takes (`lib/listeners.ts`).
 */
import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import { parseRequestUrl } from './request-url.ts'
import { send, sendEmpty } from './send.ts'

/** Page that describes the API; error bodies link to it. Gitea and Forgejo have theirs at the same path. */
export const REFERENCE_PATH = '/api/swagger'

const SCRIPT = `${REFERENCE_PATH}/openapi-explorer.min.js`

/** The package has a copy of the viewer's script; in a checkout it comes from a development dependency. */
const scriptFile = (): URL | string =>
  import.meta.url.endsWith('.js')
    ? new URL('./openapi-explorer.min.js', import.meta.url)
    : createRequire(import.meta.url).resolve('openapi-explorer/dist/browser/openapi-explorer.min.js')

/** Allows scripts and connections of this origin only; the viewer needs inline styles for its shadow tree. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const page = (documentUrl: string, scriptUrl: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>API reference</title>
<link rel="icon" href="data:,">
<script defer src="${scriptUrl}"></script>
</head>
<body>
<openapi-explorer spec-url="${documentUrl}" use-path-in-nav-bar="true" hide-server-selection="true"
  fetch-credentials="omit"></openapi-explorer>
<noscript><p>This page needs scripts. The document itself: <a href="${documentUrl}">${documentUrl}</a></p></noscript>
</body>
</html>
`

let script: Buffer | undefined

/**
 * Responds to a request for the page or its script.
 * @returns false for any other path
 */
export const serveReference = (req: IncomingMessage, res: ServerResponse, basePath: string): boolean => {
  const url = parseRequestUrl(req, '')
  if (url === undefined || (url.path !== SCRIPT && url.path !== REFERENCE_PATH)) return false
  if (req.method !== 'GET' && req.method !== 'HEAD') {
    sendEmpty(res, req.method === 'OPTIONS' ? 204 : 405, ['Allow', 'GET, HEAD, OPTIONS'])
    return true
  }
  if (url.path === SCRIPT) {
    script ??= readFileSync(scriptFile())
    send(res, 200, script, [
      'Content-Type',
      'text/javascript;charset=utf-8',
      'Cache-Control',
      'max-age=86400',
    ])
    return true
  }
  const html = page(`${url.mount}${basePath}/openapi.json`, `${url.mount}${SCRIPT}`)
  const headers = ['Content-Security-Policy', POLICY, 'Cache-Control', 'no-cache']
  send(res, 200, html, ['Content-Type', 'text/html;charset=utf-8', ...headers])
  return true
}
