import type { ComponentChildren } from 'preact'
import { renderToString } from 'preact-render-to-string'
import type { PageContext, View } from './route.ts'
import { sentence } from './sign-in.tsx'

/** @jsxRuntime automatic @jsxImportSource preact */

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

/** @jsxRuntime automatic @jsxImportSource preact */

/** What is hidden and what does not exist are said in the same words. */
const MISSING = 'There is nothing here, or nothing that you may see.'

export const failureView = (status: number, message: string): View => ({
  title: titles[status] ?? 'This did not work',
  body: (
    <>
      <h1>{titles[status] ?? 'This did not work'}</h1>
      <p>{status === 404 ? MISSING : sentence(message)}</p>
    </>
  ),
})

const titles: Record<number, string> = {
  403: 'Not allowed',
  404: 'Not found',
  409: 'Already there',
  429: 'Too many tries',
  500: 'Something failed',
  503: 'Down for the moment',
}
