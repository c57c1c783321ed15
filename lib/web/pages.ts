import type { Identity } from '../accounts/access.ts'
import { Dispatcher } from '../http/dispatcher.ts'
import type { Log } from '../http/index.ts'
import { adminRoutes } from './admin.tsx'
import { icon, style } from './assets.ts'
import { failureView, renderDocument, sendPage } from './document.tsx'
import { groupRoutes } from './groups.tsx'
import { PageEndpoints } from './page-endpoints.ts'
import type { PageServices } from './route.ts'
import { ruleRoutes } from './rules.tsx'
import { signInRoutes } from './session.tsx'
import { storageRoutes } from './storage.tsx'
import { repositoryRoutes, usageListRoutes } from './storage-details.tsx'

export interface PagesOptions {
  services: PageServices
  baseUrl: string | undefined
  /** Whether users are authenticated by the host, and not by sessions. */
  hasOwnLogin: boolean
  /** Bytes of a form. */
  bodyLimit: number
  log: Log
}

/** Every page except those to sign in; the specs that walk all pages use this list. */
export const pageRoutes = [
  ...storageRoutes,
  ...usageListRoutes,
  ...repositoryRoutes,
  ...adminRoutes,
  ...ruleRoutes,
  ...groupRoutes,
]

/** The web pages: storage of owners and administration of quotas, on the dispatcher of the API. */
export const createPages = (options: PagesOptions): Dispatcher<Identity> => {
  const { services, hasOwnLogin, baseUrl, log } = options
  const { store, hosting } = services
  const pages = new PageEndpoints({
    ...options,
    routes: [...pageRoutes, ...(hasOwnLogin ? [] : signInRoutes)],
    assets: { '/-/style.css': style, '/-/icon.svg': icon },
    failureView,
    render: renderDocument,
  })
  return new Dispatcher({
    endpoints: [pages],
    authenticate: (req) => hosting.identities.authenticate(req),
    baseUrl,
    readTogether: store.driver.shared ? (read, key) => store.readTogether(read, key) : undefined,
    authenticateFirst: hasOwnLogin,
    unmatched: (_req, res, next) => (next === undefined ? sendPage(res, 404, '') : next()),
    log,
  })
}
