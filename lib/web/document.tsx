/** The HTML document around every page with the brand of the host, and the page of an error. */
import { renderToString } from 'preact-render-to-string'
import { Header } from './header.tsx'
import { Link, NameLink, PageContextProvider, RefusalNotice, sentence } from './parts/components.tsx'
import { Icon } from './parts/inline.tsx'
import type { Crumb, PageContext, View } from './parts/route.ts'
import { ICON_PATH, SCRIPT_PATH } from './styles/index.ts'

/**
 * Browsers that support it paint the whole page at once, so that nothing moves while it loads. Preact has no
 * type for it.
 */
const WAITS_FOR_CONTENT = { blocking: 'render' }

/**
 * Renders a whole HTML document. A refusal that no field of the page shows, such as one about a list that is
 * empty by now, is shown at the top.
 */
export const renderDocument = (view: View, page: Omit<PageContext, 'entered'>): string => {
  const { entered, body } = view
  const context = { ...page, entered }
  const html = htmlOf(view, context)
  if (entered?.refusal === undefined || entered.isShown) return html
  const withNotice = (
    <>
      <RefusalNotice entered={entered} />
      {body}
    </>
  )
  return htmlOf({ ...view, body: withNotice }, context)
}

/** Preact escapes every text and attribute. */
const htmlOf = ({ title, crumbs = [], body }: View, context: PageContext): string =>
  `<!doctype html>\n${renderToString(
    <PageContextProvider value={context}>
      <html lang="en">
        <head>
          <meta charset="utf-8" />
          <meta name="viewport" content="width=device-width, initial-scale=1" />
          <meta name="color-scheme" content="light dark" />
          <title>{`${title} · ${context.brand.name}`}</title>
          <link rel="icon" href={context.brand.logo ?? context.urlOf(ICON_PATH)} />
          <link rel="stylesheet" href={context.urlOf('/-/style.css')} />
          <link rel="expect" href="#content" {...WAITS_FOR_CONTENT} />
          <script src={context.urlOf(SCRIPT_PATH)} defer />
        </head>
        <body>
          <a class="skip" href="#content">
            Skip to content
          </a>
          <Header {...context} />
          <main id="content" tabIndex={-1}>
            <Breadcrumbs crumbs={crumbs} />
            {body}
          </main>
        </body>
      </html>
    </PageContextProvider>,
  )}`

/** The pages above a page, from the outermost. */
const Breadcrumbs = ({ crumbs }: { crumbs: readonly Crumb[] }) =>
  crumbs.length === 0 ? null : (
    <nav class="crumbs" aria-label="Breadcrumb">
      <ol>
        {crumbs.map(({ name, to }) => (
          <li key={to}>
            <NameLink to={to}>{name}</NameLink>
          </li>
        ))}
      </ol>
    </nav>
  )

/**
 * The page of an error. A 404 has one text, so that it does not reveal whether something private exists.
 * @param isForm whether a form was sent: a 404 then shows the message of the error, such as what was deleted
 * since the form was opened. It reveals nothing, since services have one message for what is hidden and for
 * what does not exist
 */
export const failureView = (status: number, message: string, isForm = false): View => {
  const title = FAILURE_TITLES[status] ?? 'Request failed'
  return {
    status,
    title,
    body: (
      <div class="narrow failure">
        <Icon name={status === 404 ? 'search' : 'alert'} />
        <h1>{title}</h1>
        <p class="muted">
          {status === 404 && !isForm
            ? 'This page does not exist, or you do not have access to it.'
            : sentence(message)}
        </p>
        <div class="buttons">
          <Link class="button secondary" to="/">
            Go to the start page
          </Link>
        </div>
      </div>
    ),
  }
}

const FAILURE_TITLES: Readonly<Record<number, string>> = {
  400: 'Not understood',
  403: 'Access denied',
  404: 'Not found',
  405: 'Not possible here',
  409: 'Conflict',
  413: 'Too large',
  415: 'Not understood',
  422: 'Not accepted',
  429: 'Too many attempts',
  500: 'Something went wrong',
  503: 'Temporarily unavailable',
  507: 'No space left',
}
