/** @jsxRuntime automatic @jsxImportSource preact */
import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { renderToString } from 'preact-render-to-string'
import { endAfterDrain } from '../http/connection.ts'
import { Post, sentence } from './components.tsx'
import type { PageContext, View } from './route.ts'

/** Renders a whole HTML document. Preact escapes every text and attribute. */
export const renderDocument = ({ title, body }: View, frame: PageContext): string =>
  `<!doctype html>\n${renderToString(
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>{`${title} · Allot`}</title>
        <link rel="icon" type="image/svg+xml" href={frame.at('/-/icon.svg')} />
        <link rel="stylesheet" href={frame.at('/-/style.css')} />
      </head>
      <body>
        <a class="skip" href="#content">
          Skip to content
        </a>
        <Header frame={frame} />
        <main id="content" tabIndex={-1}>
          {body}
        </main>
      </body>
    </html>,
  )}`

const Header = ({ frame }: { frame: PageContext }) => {
  const { user, at } = frame
  return (
    <header>
      <a class="brand" href={at('/')}>
        Allot
      </a>
      {user !== null && (
        <nav aria-label="Pages">
          <a href={at('/')}>{user.username}</a>
          {user.admin && <a href={at('/-/admin')}>Administration</a>}
        </nav>
      )}
      {user !== null && frame.hasSessions && (
        <Post frame={frame} to="/-/sign-out">
          <button type="submit" class="secondary">
            Sign out
          </button>
        </Post>
      )}
    </header>
  )
}

/** The page of an error. Answers 404 with one text, so that it does not reveal whether something private exists. */
export const failureView = (status: number, message: string): View => {
  const title = FAILURE_TITLES[status] ?? 'Request failed'
  return {
    title,
    body: (
      <>
        <h1>{title}</h1>
        <p>
          {status === 404 ? 'This page does not exist, or you do not have access to it.' : sentence(message)}
        </p>
      </>
    ),
  }
}

const FAILURE_TITLES: Readonly<Record<number, string>> = {
  403: 'Access denied',
  404: 'Not found',
  409: 'Conflict',
  429: 'Too many attempts',
  500: 'Something went wrong',
  503: 'Temporarily unavailable',
}

/** No scripts; styles, images and form targets of this origin only; no framing. */
const POLICY =
  "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

const SECURITY_HEADERS = [
  ['Content-Security-Policy', POLICY],
  ['X-Content-Type-Options', 'nosniff'],
  ['X-Frame-Options', 'DENY'],
  // With `no-referrer`, browsers would send forms without an Origin.
  ['Referrer-Policy', 'same-origin'],
  ['Cross-Origin-Opener-Policy', 'same-origin'],
  ['Cross-Origin-Resource-Policy', 'same-origin'],
].flat()

const send = (res: ServerResponse, status: number, text: string, headers: readonly string[]): void => {
  if (res.headersSent || res.destroyed) return void res.end()
  const bytes = Buffer.from(text)
  if (status === 413) res.shouldKeepAlive = false
  const length = status === 304 ? [] : ['Content-Length', String(bytes.length)]
  res.writeHead(status, [...SECURITY_HEADERS, ...headers, ...length])
  endAfterDrain(res, bytes)
}

/** Sends a page that must not be cached, since it shows data of its viewer. */
export const sendPage = (
  res: ServerResponse,
  status: number,
  html: string,
  more: readonly string[] = [],
): void =>
  send(res, status, html, ['Content-Type', 'text/html;charset=utf-8', 'Cache-Control', 'no-store', ...more])

export const sendRedirect = (res: ServerResponse, to: string, more: readonly string[] = []): void =>
  send(res, 303, '', ['Location', to, 'Cache-Control', 'no-store', ...more])

/** A file that is the same for all viewers. */
export interface Asset {
  readonly type: string
  readonly text: string
  readonly tag: string
}

export const asset = (type: string, text: string): Asset => ({
  type,
  text,
  tag: `"${createHash('sha1').update(text).digest('base64url')}"`,
})

export const sendAsset = (req: IncomingMessage, res: ServerResponse, { type, text, tag }: Asset): void => {
  const headers = ['ETag', tag, 'Cache-Control', 'no-cache']
  if (req.headers['if-none-match']?.includes(tag)) send(res, 304, '', headers)
  else send(res, 200, text, [...headers, 'Content-Type', type])
}
