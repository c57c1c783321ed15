/** @jsxRuntime automatic @jsxImportSource preact */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { renderToString } from 'preact-render-to-string'
import { endAfterDrain } from '../http/connection.ts'
import type { Asset } from './assets.ts'
import { Link, PageContextProvider, Post, sentence } from './components.tsx'
import type { PageContext, View } from './route.ts'

/** Renders a whole HTML document. Preact escapes every text and attribute. */
export const renderDocument = ({ title, body }: View, context: PageContext): string =>
  `<!doctype html>\n${renderToString(
    <PageContextProvider value={context}>
      <html lang="en">
        <head>
          <meta charset="utf-8" />
          <meta name="viewport" content="width=device-width, initial-scale=1" />
          <meta name="color-scheme" content="light dark" />
          <title>{`${title} · Allot`}</title>
          <link rel="icon" type="image/svg+xml" href={context.urlOf('/-/icon.svg')} />
          <link rel="stylesheet" href={context.urlOf('/-/style.css')} />
        </head>
        <body>
          <a class="skip" href="#content">
            Skip to content
          </a>
          <Header {...context} />
          <main id="content" tabIndex={-1}>
            {body}
          </main>
        </body>
      </html>
    </PageContextProvider>,
  )}`

const Header = ({ user, hasSessions }: PageContext) => (
  <header>
    <Link class="brand" to="/">
      Allot
    </Link>
    {user !== null && (
      <nav aria-label="Pages">
        <Link to="/">{user.username}</Link>
        {user.admin && <Link to="/-/admin">Administration</Link>}
      </nav>
    )}
    {user !== null && hasSessions && (
      <Post to="/-/sign-out">
        <button type="submit" class="secondary">
          Sign out
        </button>
      </Post>
    )}
  </header>
)

/** The page of an error. Answers 404 with one text, so that it does not reveal whether something private exists. */
export const failureView = (status: number, message: string): View => {
  const title = FAILURE_TITLES[status] ?? 'Request failed'
  return {
    status,
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

export const sendAsset = (req: IncomingMessage, res: ServerResponse, { type, text, tag }: Asset): void => {
  const headers = ['ETag', tag, 'Cache-Control', 'no-cache']
  if (req.headers['if-none-match']?.includes(tag)) send(res, 304, '', headers)
  else send(res, 200, text, [...headers, 'Content-Type', type])
}
