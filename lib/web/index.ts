import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Identity } from '../accounts/access.ts'
import type { Dispatcher } from '../http/dispatcher.ts'
import { relativeUrl } from '../http/request-url.ts'
import type { PagesOptions } from './pages.ts'

/** The pages, loaded at the first request for one of them, so that a server without visitors starts faster. */
export const createLazyPages = (
  options: PagesOptions,
): Pick<Dispatcher<Identity>, 'handler'> & { close(): Promise<void> } => {
  const isPage = pageMatcher(options)
  let pages: Promise<ReturnType<typeof import('./pages.ts').createPages>> | undefined
  return {
    handler(req, res, next) {
      if (!isPage(req) && (next !== undefined || !showsFailures(req))) {
        if (next === undefined) sendStatus(res, 404)
        else next()
        return
      }
      pages ??= import('./pages.ts').then(({ createPages }) => createPages(options))
      pages.then(
        (loaded) => loaded.handler(req, res, next),
        (error) => {
          pages = undefined
          options.log.error({ err: error }, 'the pages could not be loaded')
          sendStatus(res, 500)
        },
      )
    },
    close: async () => (await pages?.catch(() => undefined))?.close(),
  }
}

/**
 * Storage, administration, sign-in and assets: at the root, or below `/-/`, which is not a valid owner name. Hosts cannot replace
 * them, unlike those of `SITE_PAGE`.
 */
const ALLOT_PAGE = /^\/?(?:$|\?)|^\/-\//

const NAME = '[A-Za-z0-9][\\w.-]*'
const END = '(?:[?/]|$)'

/** The pages of people and repositories, which a host can replace by `htmlUrls` (lib/host-pages/html-urls.ts). Paths of git, Git LFS, archives and downloads are not among them. */
const SITE_PAGE = new RegExp(
  `^/(?!(?:api|attachments|avatars)/)${NAME}(?:\\?|$|/-/packages${END}|/(?![^/?]*\\.git${END})[\\w.-]+(?:\\?|$|/(?:src|raw|commits?|branches|tags|issues|releases(?!/download))${END}))`,
  'i',
)

/** @returns whether a path with its query is a page of a person or a repository, by its form */
export const isSitePage = (path: string): boolean => SITE_PAGE.test(path)

/** In a host, requests of the API can come through here before they reach it, so nothing more of their URL is parsed. */
const pageMatcher = ({ services, basePath }: PagesOptions): ((req: IncomingMessage) => boolean) => {
  const { servedPages } = services.settings
  const base = `${basePath}/`
  return (req) => {
    const path = relativeUrl(req)
    if (path === undefined) return false
    if (ALLOT_PAGE.test(path)) return true
    if (servedPages.size === 0 || (req.method !== 'GET' && req.method !== 'HEAD')) return false
    return !path.startsWith(base) && isSitePage(path)
  }
}

/** Whether a person sees the response, so that a request for nothing gets a page that says so. */
const showsFailures = ({ method, headers }: IncomingMessage): boolean =>
  (method === 'GET' || method === 'HEAD') && headers.accept?.includes('text/html') === true

const sendStatus = (res: ServerResponse, status: number): void =>
  void res.writeHead(status, { 'Content-Length': 0 }).end()
