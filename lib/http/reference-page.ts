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

/** The viewer has a light theme only, whose variables this style overrides. */
const STYLE = `:root { color-scheme: light dark; }
@media (prefers-color-scheme: dark) {
  body { background: #0d1015; color: #e9edf3; }
  openapi-explorer { --bg: #0d1015; --bg2: #161a21; --bg3: #1f252e; --light-bg: #2a313c; --input-bg: #161a21;
    --hover-color: #1f252e; --fg: #e9edf3; --fg2: #d5dae3; --fg3: #b8c1cf; --light-fg: #9aa5b6;
    --placeholder-color: #7c8798; --border-color: #3a4350; --light-border-color: #2a313c;
    --nav-bg-color: #161a21; --nav-hover-bg-color: #1f252e; --primary-color: #8ab4ff;
    --primary-btn-text-color: #0b1428; --code-fg: #b8c1cf; --code-property-color: #f590c4;
    --code-keyword-color: #8ab4ff; --code-operator-color: #f5c469; --inline-code-fg: #f5ae55;
    --purple: #b3a1f8; --red: #ff7b72; --light-purple: #231d3a; --light-red: #331a1b; --light-orange: #332414;
    --light-yellow: #2f2410; --light-green: #11291d; --light-blue: #11253a; --light-gray: #1f252e; }
}`

const escapeHtml = (text: string): string =>
  text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`)

const page = (brand: string, documentUrl: string, scriptUrl: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>API reference · ${escapeHtml(brand)}</title>
<link rel="icon" href="data:,">
<style>${STYLE}</style>
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

interface ReferenceOptions {
  readonly basePath: string
  /** Name of the service. */
  readonly brand: string
  /** Makes the document, before the page is sent: the viewer waits for it for five seconds only. */
  readonly prepare: () => Promise<unknown>
}

/** Serves the page and its script, and leaves other requests that no route takes to the host. */
export const referenceOrNext =
  (options: ReferenceOptions) =>
  (req: IncomingMessage, res: ServerResponse, next: (() => void) | undefined): void => {
    if (serve(req, res, options)) return
    if (next === undefined) sendEmpty(res, 404)
    else next()
  }

/** @returns false for any other path */
const serve = (
  req: IncomingMessage,
  res: ServerResponse,
  { basePath, brand, prepare }: ReferenceOptions,
): boolean => {
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
  const html = page(brand, `${url.mount}${basePath}/openapi.json`, `${url.mount}${SCRIPT}`)
  const headers = ['Content-Security-Policy', POLICY, 'Cache-Control', 'no-cache']
  const reply = () => send(res, 200, html, ['Content-Type', 'text/html;charset=utf-8', ...headers])
  // The request for the document reports why there is none.
  prepare().then(reply, reply)
  return true
}
