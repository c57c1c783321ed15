import type { IncomingMessage } from 'node:http'
import type { VNode } from 'preact'
import type { Identity } from '../accounts/identity.ts'
import type { Hosting } from '../hosting.ts'
import type { Auth } from '../http/access.ts'
import type { SegmentsOf } from '../http/route.ts'
import type { QuotaEngine } from '../quota/index.ts'
import type { Store } from '../records/store.ts'
import type { Form } from './form.ts'

/** What every page may want to know. */
export interface PageServices {
  readonly store: Store
  readonly hosting: Hosting
  readonly quota: QuotaEngine
  readonly settings: PageSettings
}

export interface PageSettings {
  /** The share of a limit, between 0 and 1, from which on an owner is near it. */
  readonly nearAt: number
  /** Whether names link to their `html_url`, for hosts that show something there. */
  readonly links: boolean
  /** Whether repositories are cloned from this server. */
  readonly clones: boolean
}

/** What a page says of where it is and to whom it is shown. */
export interface PageContext {
  /** Where a path of the pages is, for links and forms. */
  at(path: string): string
  /** What every form has to send along. */
  readonly formToken: string
  readonly user: Identity | null
  /** False where the host has its own login. */
  readonly hasSessions: boolean
  /** Where the service itself is, without a slash at the end; undefined where that cannot be known. */
  readonly site: string | undefined
}

export interface PageRequest<Name extends string = string, User = Identity | null> {
  readonly user: User
  readonly frame: PageContext
  readonly params: Readonly<Record<Name, string>>
  readonly query: URLSearchParams
  readonly form: Form
  readonly req: IncomingMessage
  /** What the visitor's cookie holds. */
  readonly secret: string
}

export interface View {
  readonly status?: number
  readonly title: string
  readonly body: VNode
  /** Seconds after which it is worth trying again. */
  readonly retryAfter?: number | undefined
}

/** Onward to another path of the pages. */
export interface Redirect {
  readonly to: string
  /** A new secret for the visitor, and the seconds that it lasts. */
  readonly secret?: { readonly value: string; readonly seconds?: number }
}

export type PageReply = View | Redirect

export interface PageRoute {
  readonly method: 'GET' | 'POST'
  /** `{x}` marks a segment. */
  readonly path: string
  readonly auth: Auth
  readonly scope?: string
  handle(request: PageRequest, services: PageServices): Promise<PageReply>
}

/** Declares the route of a page. */
export const page = <const Path extends string, const A extends Auth>(
  route: Omit<PageRoute, 'path' | 'auth' | 'handle'> & {
    path: Path
    auth: A
    handle: (
      request: PageRequest<SegmentsOf<Path>, A extends 'optional' ? Identity | null : Identity>,
      services: PageServices,
    ) => Promise<PageReply>
  },
): PageRoute => route as unknown as PageRoute
