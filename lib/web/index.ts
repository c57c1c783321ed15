import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Identity } from '../accounts/access.ts'
import type { Dispatcher } from '../http/dispatcher.ts'
import { relativeUrl } from '../http/request-url.ts'
import type { PagesOptions } from './pages.ts'

/** The pages, loaded at the first request for one of them, so that a server without visitors starts faster. */
export const createLazyPages = (options: PagesOptions): Pick<Dispatcher<Identity>, 'handler' | 'idle'> => {
  let pages: Promise<Dispatcher<Identity>> | undefined
  return {
    handler(req, res, next) {
      if (!isPage(req)) {
        if (next === undefined) sendStatus(res, 404)
        else next()
        return
      }
      pages ??= import('./pages.ts').then(({ createPages }) => createPages(options))
      pages.then(
        (loaded) => loaded.handler(req, res, next),
        (error) => {
          options.log.error({ err: error }, 'the pages could not be loaded')
          sendStatus(res, 500)
        },
      )
    },
    idle: async () => (await pages?.catch(() => undefined))?.idle(),
  }
}

/** All pages are at the root, or below `/-/`, which is not a valid owner name. */
const PAGE = /^\/?(?:$|\?)|^\/-\//

/** Requests of the API come through here before it, so nothing more of their URL is parsed. */
const isPage = (req: IncomingMessage): boolean => PAGE.test(relativeUrl(req) ?? '/elsewhere')

const sendStatus = (res: ServerResponse, status: number): void =>
  void res.writeHead(status, { 'Content-Length': 0 }).end()
