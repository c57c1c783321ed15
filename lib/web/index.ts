import type { ServerResponse } from 'node:http'
import type { Identity } from '../accounts/access.ts'
import type { Dispatcher } from '../http/dispatcher.ts'
import type { Log } from '../http/index.ts'
import { parseRequestUrl } from '../http/request-url.ts'
import type { PagesOptions } from './pages.ts'

/** The pages, loaded at the first request for one of them, so that a server without visitors starts faster. */
export const createLazyPages = (options: PagesOptions): Pick<Dispatcher<Identity>, 'handler' | 'idle'> => {
  let pages: Dispatcher<Identity> | undefined
  let loading: Promise<Dispatcher<Identity>> | undefined
  const load = async (): Promise<Dispatcher<Identity>> => {
    const { createPages } = await import('./pages.ts')
    pages = createPages(options)
    return pages
  }

  return {
    handler(req, res, next) {
      if (!isPage(parseRequestUrl(req, '')?.path)) {
        if (next === undefined) sendStatus(res, 404)
        else next()
        return
      }
      if (pages !== undefined) return pages.handler(req, res, next)
      loading ??= load()
      loading.then(
        (loaded) => loaded.handler(req, res, next),
        (error) => failLoading(options.log, error, res),
      )
    },
    idle: async () => pages?.idle(),
  }
}

/** All pages are at the root, or below `/-/`, which is not a valid owner name. */
const isPage = (path = ''): boolean => path === '/' || path.startsWith('/-/')

const failLoading = (log: Log, error: unknown, res: ServerResponse): void => {
  log.error({ err: error }, 'the pages could not be loaded')
  sendStatus(res, 500)
}

const sendStatus = (res: ServerResponse, status: number): void =>
  void res.writeHead(status, { 'Content-Length': 0 }).end()
