import type { Log } from '../http/index.ts'
import { adminRoutes } from './admin.tsx'
import { createPageDispatcher, type PageDispatcher } from './page-endpoints.ts'
import { failureView, renderDocument } from './document.tsx'
import { groupRoutes } from './groups.tsx'
import { repositoryRoutes } from './repository.tsx'
import type { PageServices } from './route.ts'
import { ruleRoutes } from './rules.tsx'
import { signInRoutes } from './sign-in.tsx'
import { storageRoutes } from './storage.tsx'
import { icon, style } from './style.ts'
import { usageListRoutes } from './usage-list.tsx'

export interface PagesOptions {
  services: PageServices
  baseUrl: string | undefined
  hasOwnLogin: boolean
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

/** The web pages: storage of owners and administration of quotas, from the same functions as the API. */
export const createPages = (options: PagesOptions): PageDispatcher =>
  createPageDispatcher({
    ...options,
    routes: [...pageRoutes, ...(options.hasOwnLogin ? [] : signInRoutes)],
    assets: { '/-/style.css': style, '/-/icon.svg': icon },
    failureView,
    render: renderDocument,
  })
