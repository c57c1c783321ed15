import type { Log, Next } from '../http/index.ts'
import type { PageDispatcher } from './page-endpoints.ts'
import type { PagesOptions } from './index.ts'
import { requestPath } from './request-url.ts'

/** The pages, which are loaded when the first of them is asked for: a server that shows none starts without them. */
export const createLazyPages = (facts: PagesOptions): PageDispatcher => {
  let pages: PageDispatcher | undefined
  let coming: Promise<PageDispatcher> | undefined
  const load = async (): Promise<PageDispatcher> => {
    const { createPages } = await import('./index.ts')
    pages = createPages(facts)
    return pages
  }

  return {
    handler(req, res, next) {
      if (!isPage(requestPath(req))) return elsewhere(res, next)
      if (pages !== undefined) return pages.handler(req, res, next)
      coming ??= load()
      coming.then(
        (loaded) => loaded.handler(req, res, next),
        (error) => unloaded(facts.log, error, res),
      )
    },
    idle: async () => pages?.idle(),
  }
}

type Answer = Parameters<PageDispatcher['handler']>[1]

/** Every page is at the root, or below what no owner can be named. */
const isPage = (path: string): boolean => path === '/' || path.startsWith('/-/')

const elsewhere = (res: Answer, next: Next | undefined): void => {
  if (next === undefined) res.writeHead(404, { 'Content-Length': 0 }).end()
  else next()
}

const unloaded = (log: Log, error: unknown, res: Answer): void => {
  log.error({ err: error }, 'the pages could not be loaded')
  res.writeHead(500, { 'Content-Length': 0 }).end()
}
