/** @jsxRuntime automatic @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import { renderToString } from 'preact-render-to-string'
import type { PageContext, View } from './route.ts'

/** A whole document. What is put into it is escaped, wherever it comes from. */
export const documentOf = ({ title, body }: View, frame: PageContext): string =>
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
          To the content
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
          <button type="submit" class="quiet">
            Sign out
          </button>
        </Post>
      )}
    </header>
  )
}

/** A form that changes something. */
export const Post = ({
  frame,
  to,
  children,
  ...more
}: {
  frame: PageContext
  to: string
  class?: string
  children: ComponentChildren
}) => (
  <form method="post" action={frame.at(to)} {...more}>
    <input type="hidden" name="form" value={frame.formToken} />
    {children}
  </form>
)

/** Something that the visitor has to know first. */
export const Notice = ({
  kind,
  children,
}: {
  kind: 'over' | 'near' | 'said'
  children: ComponentChildren
}) => (
  <div class={`notice ${kind}`} role={kind === 'said' ? 'status' : 'note'}>
    {children}
  </div>
)
