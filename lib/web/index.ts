import type { IncomingMessage } from 'node:http'
import type { Identity } from '../accounts/access.ts'
import type { Dispatcher } from '../http/dispatcher.ts'
import { movedStatus } from '../http/former-names.ts'
import { isPageView, parseRequestUrl, relativeUrl } from '../http/request-url.ts'
import { sendEmpty } from '../http/send.ts'
import type { PagesApp } from './pages.ts'

/**
 * The pages, loaded at the first request for one of them, so that a server without visitors starts faster.
 */
export const createLazyPages = (
  app: PagesApp,
): Pick<Dispatcher<Identity>, 'handler'> & { close(): Promise<void> } => {
  const isPage = pageMatcher(app)
  let pages: Promise<ReturnType<typeof import('./pages.ts').createPages>> | undefined
  return {
    handler(req, res, next) {
      const page = next === undefined ? withoutSlash(req, isPage) : undefined
      if (page !== undefined) return sendEmpty(res, movedStatus(req.method), ['Location', page])
      if (!isPage(req, relativeUrl(req)) && (next !== undefined || !isPageView(req))) {
        if (next === undefined) sendEmpty(res, 404)
        else next()
        return
      }
      pages ??= import('./pages.ts').then(({ createPages }) => createPages(app))
      pages.then(
        (loaded) => loaded.handler(req, res, next),
        (error) => {
          pages = undefined
          app.host.log.error({ err: error }, 'the pages could not be loaded')
          sendEmpty(res, 500)
        },
      )
    },
    close: async () => (await pages?.catch(() => undefined))?.close(),
  }
}

/**
 * Storage, administration, sign-in and assets: at the root, or below `/-/`, which is not a valid owner name.
 * Hosts cannot replace them, unlike those of `SITE_PAGE`.
 */
const ALLOT_PAGE = /^\/?(?:$|\?)|^\/-\//

const NAME = '[A-Za-z0-9][\\w.-]*'
const END = '(?:[?/]|$)'

/**
 * The pages of people and repositories, which a host can replace by `htmlUrls` (lib/host-pages/html-urls.ts).
 * Paths of git, Git LFS, archives and downloads are not among them.
 */
const SITE_PAGE = new RegExp(
  `^/(?!(?:api|attachments|avatars)/)${NAME}(?:\\?|$|/-/packages${END}|/(?![^/?]*\\.git${END})[\\w.-]+(?:\\?|$|/(?:src|raw|commits?|branches|tags|issues|releases(?!/download))${END}))`,
  'i',
)

/** @returns whether a path with its query is a page of a person or a repository, by its form */
export const isSitePage = (path: string): boolean => SITE_PAGE.test(path)

/** Whether a request is for a page, at a path with its query. */
type IsPage = (req: IncomingMessage, path: string | undefined) => boolean

/**
 * In a host, requests of the API can come through here before they reach it, so nothing more of their URL is
 * parsed.
 */
const pageMatcher = ({ settings: { servedPages }, options }: PagesApp): IsPage => {
  const base = `${options.basePath}/`
  return (req, path) => {
    if (path === undefined) return false
    if (ALLOT_PAGE.test(path)) return true
    if (servedPages.size === 0 || (req.method !== 'GET' && req.method !== 'HEAD')) return false
    return !path.startsWith(base) && isSitePage(path)
  }
}

/**
 * The URL of the page that a GET means whose path ends with a slash, if nothing else has the path. Only a
 * path that {@link pageMatcher} knows: with `//host/` a redirect would lead to another server.
 */
const withoutSlash = (req: IncomingMessage, isPage: IsPage): string | undefined => {
  const { path = '', search = '', mount = '' } = parseRequestUrl(req, '') ?? {}
  if (!/^\/.*\/$/.test(path) || (req.method !== 'GET' && req.method !== 'HEAD')) return undefined
  const page = path.slice(0, -1) + (search && `?${search}`)
  return isPage(req, page) ? mount + page : undefined
}
