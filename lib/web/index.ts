import type { Log } from '../http/index.ts'
import { adminRoutes } from './admin.tsx'
import { createPageDispatcher, type PageDispatcher } from './dispatcher.ts'
import { documentOf, failureView } from './document.tsx'
import { groupRoutes } from './groups.tsx'
import { repositoryRoutes } from './repository.tsx'
import type { PageServices } from './route.ts'
import { ruleRoutes } from './rules.tsx'
import { signInRoutes } from './sign-in.tsx'
import { storageRoutes } from './storage.tsx'
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
