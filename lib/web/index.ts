import type { IncomingMessage } from 'node:http'
import type { Identity } from '../accounts/access.ts'
import type { Dispatcher } from '../http/dispatcher.ts'
import { isPageView, relativeUrl } from '../http/request-url.ts'
import { sendEmpty } from '../http/send.ts'
import type { PagesApp } from './pages.ts'

/**
 * The pages, loaded at the first request that may be for one of them, so that a server without visitors
 * starts faster.
 */
export const createLazyPages = (
  app: PagesApp,
): Pick<Dispatcher<Identity>, 'handler'> & { close(): Promise<void> } => {
  type Pages = ReturnType<typeof import('./pages.ts').createPages>
  let pages: Promise<Pages> | undefined
  let loaded: Pages | undefined
  return {
    handler(req, res, next) {
      const mayBe = mayBePage(req, app.options.basePath) || (next === undefined && isPageView(req))
      if (!mayBe) return next === undefined ? sendEmpty(res, 404) : next()
      // At once, so that requests of one connection stay in their order.
      if (loaded !== undefined) return loaded.handler(req, res, next)
      pages ??= import('./pages.ts').then(({ createPages }) => createPages(app))
      pages.then(
        (made) => {
          loaded = made
          made.handler(req, res, next)
        },
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

/** First segments of paths whose requests are for the API, and those of its files. */
const NO_PAGE = /^\/(?:api|attachments|avatars)\//

/** Forms are sent to paths below `/-/` only; other changes are for the API, for git or for the host. */
const mayBePage = (req: IncomingMessage, basePath: string): boolean => {
  const url = relativeUrl(req)
  if (url === undefined || NO_PAGE.test(url) || url.startsWith(`${basePath}/`)) return false
  return req.method === 'GET' || req.method === 'HEAD' || url.startsWith('/-/') || /^\/?(?:\?|$)/.test(url)
}
