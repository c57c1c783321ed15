/** @jsxRuntime automatic @jsxImportSource preact */
import { renderToString } from 'preact-render-to-string'
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
