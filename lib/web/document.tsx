/** @jsxRuntime automatic @jsxImportSource preact */
/** The HTML document around every page with its style sheet, the page of an error, and the responses that send them. */
import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { renderToString } from 'preact-render-to-string'
import { endAfterDrain } from '../http/connection.ts'
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

/** A file that is the same for all viewers. */
export interface Asset {
  readonly type: string
  readonly text: string
  readonly tag: string
}

const asset = (type: string, text: string): Asset => ({
  type,
  text,
  tag: `"${createHash('sha1').update(text).digest('base64url')}"`,
})

/** Text has WCAG AA contrast in both color schemes. No state is shown by color alone. */
const colors = `
:root {
  color-scheme: light dark;
  --background: #ffffff; --surface: #f5f6f8; --border: #cfd4dc; --text: #1b2330; --muted: #566073;
  --link: #0b57b8; --over: #b3141d; --over-background: #fdecec; --near: #7a4b00; --near-background: #fff3d9;
  --success-background: #e8f1fd; --track: #e2e6ec; --limit: #b3141d;
  --part0: #2563c4; --part1: #6d4bb8; --part2: #0f8075; --part3: #b45309; --part4: #be3a7c; --part5: #64748b;
}
@media (prefers-color-scheme: dark) {
  :root {
    --background: #12161d; --surface: #1a2029; --border: #3a4454; --text: #e6eaf0; --muted: #a3adbd;
    --link: #86b8ff; --over: #ff9a96; --over-background: #3d1a1c; --near: #f2c36b; --near-background: #382a10;
    --success-background: #17293f; --track: #2b3442; --limit: #ff9a96;
    --part0: #6aa5ee; --part1: #b39af0; --part2: #4fc3b5; --part3: #f0a659; --part4: #f08cbc; --part5: #a8b3c4;
  }
}
`

const pageRules = `
* { box-sizing: border-box; }
body { margin: 0; background: var(--background); color: var(--text); overflow-wrap: anywhere;
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
a { color: var(--link); }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
main:focus { outline: none; }
.skip { position: absolute; left: -100vw; }
.skip:focus { left: 0; background: var(--background); padding: .5rem 1rem; z-index: 1; }
header { display: flex; flex-wrap: wrap; align-items: center; gap: .25rem 1.25rem; padding: .6rem 1rem;
  border-bottom: 1px solid var(--border); background: var(--surface); }
header nav { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; flex: 1; }
header a, .pages a { display: inline-block; padding: .25rem 0; }
header form { margin-left: auto; }
@media (max-width: 30rem) { header nav { order: 1; flex-basis: 100%; } }
.brand { font-weight: 700; color: inherit; text-decoration: none; }
main { max-width: 56rem; margin: 0 auto; padding: 1rem 1rem 4rem; }
.narrow { max-width: 26rem; margin: 0 auto; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: .75rem 0 .5rem; }
h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
p { margin: .5rem 0; }
.subtitle, .hint, .small { color: var(--muted); }
.small, .hint { font-size: .875rem; }
.notice { padding: .6rem .9rem; margin: .75rem 0; border-left: 4px solid; border-radius: 4px; }
.notice.over { background: var(--over-background); border-color: var(--over); }
.notice.near { background: var(--near-background); border-color: var(--near); }
.notice.success { background: var(--success-background); border-color: var(--link); }
.state.over, .state.near { font-weight: 600; }
.state.over { color: var(--over); } .state.near { color: var(--near); } .state.unlimited { color: var(--muted); }
`

const bars = `
.bar { display: block; width: 100%; height: 1.5rem; border-radius: 4px; margin: .5rem 0; }
.bar.thin { height: .6rem; margin: .25rem 0; }
.track { fill: var(--track); }
.halo { stroke: var(--background); stroke-width: 7; }
.limit { stroke: var(--limit); stroke-width: 3; stroke-dasharray: 4 2; }
.part0 { fill: var(--part0); } .part1 { fill: var(--part1); } .part2 { fill: var(--part2); }
.part3 { fill: var(--part3); } .part4 { fill: var(--part4); } .part5 { fill: var(--part5); }
.bar rect[class^=part] { stroke: var(--background); stroke-width: 1; }
.swatch { width: .8em; height: .8em; margin-right: .45em; border-radius: 2px; vertical-align: -.05em; }
.legend, .statuses { list-style: none; padding: 0; margin: .5rem 0; }
.legend { display: flex; flex-wrap: wrap; gap: .15rem 1.25rem; }
.legend data { color: var(--muted); }
.statuses { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 24rem), 1fr)); gap: 1rem 2rem; }
.line { display: flex; align-items: baseline; justify-content: space-between; gap: 1rem; }
.line > :last-child { text-align: right; }
`

const figures = `
figure { margin: .5rem 0; }
.chart { display: block; width: 100%; height: 10rem; background: var(--surface); border-bottom: 1px solid var(--border); }
.chart line { vector-effect: non-scaling-stroke; }
figcaption { color: var(--muted); font-size: .875rem; margin-top: .25rem; }
summary { cursor: pointer; color: var(--link); padding: .25rem 0; }
caption { text-align: left; color: var(--muted); font-size: .875rem; padding: .25rem 0; }
`

const tables = `
table { width: 100%; border-collapse: collapse; }
th, td { text-align: left; padding: .4rem .75rem .4rem 0; border-bottom: 1px solid var(--border); vertical-align: top; }
th { font-size: .875rem; color: var(--muted); font-weight: 600; }
.number { text-align: right; padding: .4rem 0 .4rem .75rem; white-space: nowrap; font-variant-numeric: tabular-nums; }
code { font: .9em/1.4 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; background: var(--surface);
  padding: .1em .3em; border-radius: 3px; }
.pages { display: flex; gap: 1.5rem; align-items: center; margin: 1rem 0; }
`

const forms = `
label { font-weight: 600; }
input, select, textarea, button { font: inherit; color: inherit; max-width: 100%; }
input:not([type=checkbox]), select, textarea { background: var(--background); border: 1px solid var(--muted); border-radius: 4px;
  padding: .45rem .6rem; width: 100%; }
button { background: var(--link); color: var(--background); border: 1px solid var(--link); border-radius: 4px;
  padding: .45rem 1rem; cursor: pointer; font-weight: 600; }
button.secondary { background: none; color: var(--link); border-color: var(--border); padding: .25rem .75rem; }
button.danger { background: none; color: var(--over); border-color: var(--over); }
.stacked { display: grid; gap: .35rem; justify-items: start; }
.stacked label { margin-top: .6rem; }
.stacked button { margin-top: 1rem; }
.hint { margin: 0; }
.buttons { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; margin: 1rem 0; }
.buttons button, .inline button { margin: 0; }
.inline { display: flex; flex-wrap: wrap; gap: .75rem 1rem; align-items: end; margin: .75rem 0; }
.inline > div { flex: 1 1 12rem; }
fieldset { border: 1px solid var(--border); border-radius: 4px; margin: .75rem 0 0; padding: .5rem .9rem; width: 100%; }
legend { font-weight: 600; padding: 0 .3rem; }
.box { display: flex; gap: .6rem; align-items: center; padding: .2rem 0; margin: 0; font-weight: 400; }
.stacked .box { margin: 0; }
.box input { width: 1.1rem; height: 1.1rem; flex: none; accent-color: var(--link); }
.tabs { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; margin: .5rem 0 1rem; }
.tabs a { padding: .25rem 0; }
.plain { list-style: none; margin: 0; padding: 0; }
.rows .line { align-items: center; padding: .3rem 0; border-bottom: 1px solid var(--border); }
`

/** By their paths. */
export const assets: Readonly<Record<string, Asset>> = {
  '/-/style.css': asset('text/css;charset=utf-8', [colors, pageRules, bars, figures, tables, forms].join('')),
  '/-/icon.svg': asset(
    'image/svg+xml',
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3" fill="#2563c4"/><rect x="3" y="4" width="10" height="3" fill="#fff"/><rect x="3" y="9" width="6" height="3" fill="#fff"/></svg>',
  ),
}
