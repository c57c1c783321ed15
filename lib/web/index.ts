import type { Identity } from '../accounts/access.ts'
import type { Dispatcher } from '../http/dispatcher.ts'
import { sendEmpty } from '../http/send.ts'
import type { PagesApp } from './pages.ts'

/** The pages, loaded at the first request for them, so that a server without visitors starts faster. */
export const createLazyPages = (
  app: PagesApp,
): Pick<Dispatcher<Identity>, 'handler'> & { close(): Promise<void> } => {
  type Pages = ReturnType<typeof import('./pages.ts').createPages>
  let pages: Promise<Pages> | undefined
  let loaded: Pages | undefined
  return {
    handler(req, res, next) {
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
