import type { Log } from '../http/index.ts'
import { createPageDispatcher, type PageDispatcher } from './dispatcher.ts'
import { documentOf } from './document.tsx'
import { failureView } from './failure.tsx'
import type { PageServices } from './route.ts'
import { adminRoutes } from './routes/admin.ts'
import { groupRoutes } from './routes/groups.ts'
import { repositoryRoutes } from './routes/repository.ts'
import { ruleRoutes } from './routes/rules.ts'
import { signInRoutes } from './routes/sign-in.ts'
import { storageRoutes } from './routes/storage.ts'
import { icon, style } from './style.ts'

export interface PagesOptions {
  services: PageServices
  baseUrl: string | undefined
  hasOwnLogin: boolean
  bodyLimit: number
  log: Log
}

/** Every page but those of signing in; the specs that walk all pages are made from this list. */
export const pageRoutes = [
  ...storageRoutes,
  ...repositoryRoutes,
  ...adminRoutes,
  ...ruleRoutes,
  ...groupRoutes,
]

/** The pages for people: what somebody uses and has left, from the same functions as the API. */
export const createPages = (facts: PagesOptions): PageDispatcher =>
  createPageDispatcher({
    ...facts,
    routes: [...pageRoutes, ...(facts.hasOwnLogin ? [] : signInRoutes)],
    assets: { '/-/style.css': style, '/-/icon.svg': icon },
    failureView: failureView,
    render: documentOf,
  })
