import type { Identity } from '../accounts/access.ts'
import type { LfsTokens } from '../content/lfs-tokens.ts'
import { AllotError } from '../errors.ts'
import type { HtmlUrls } from '../host-pages/html-urls.ts'
import type { Hosting } from '../hosting/index.ts'
import { type Produce, routesFor, streamsFor } from '../http/index.ts'
import type { Markdown } from '../markdown/index.ts'
import type { QuotaEngine } from '../quota/index.ts'
import type { Found } from '../records/pages.ts'
import type { Store } from '../records/store.ts'
import type { GitServices } from '../repositories/pushes.ts'
import { mayHaveMoved } from './former-names.ts'
import { resourcesFor } from './kit.ts'

export type { Recipient } from './view.ts'

/** The services for handlers of JSON routes. */
export interface Services {
  readonly store: Store
  /** Undefined when no git data is served. */
  readonly git: Pick<GitServices, 'pushes'> | undefined
  readonly hosting: Hosting
  readonly quota: QuotaEngine
  readonly markdown: Markdown
  readonly htmlUrls: HtmlUrls
  /** Writes an export of the whole store, from one snapshot. */
  readonly exportTo: Produce
  readonly version: string
  /**
   * `specification`: responses follow the specification, as docs/api.md describes. `forgejo` changes the few
   * on which clients of Forgejo and Gitea disagree with it.
   */
  readonly dialect: 'specification' | 'forgejo'
  /** @returns the OpenAPI document of a service at `apiUrl` */
  readonly documentFor: (apiUrl: string) => Promise<{ openapi: string }>
  /** Maximum size of an attachment in bytes. */
  readonly maxAttachmentBytes: number
  /** What a user without write permission can attach in a day to what one owner has. */
  readonly maxGuestBytesPerDay: number
  /** Reported by `GET /settings/repository` and `GET /settings/attachment`. */
  readonly served: { readonly [Part in 'attachments' | 'gitOverHttp' | 'lfs' | 'forks']: boolean }
  /**
   * Maximum size of a file in a JSON response, in bytes; 0 when contents are not served. Reported by
   * `GET /settings/api`.
   */
  readonly maxBlobBytes: number
  /** Reported by `GET /settings/api`. */
  readonly pageLimits: { readonly default: number; readonly max: number }
}

/** The services for handlers of stream routes (git, Git LFS, downloads). */
export interface StreamServices {
  readonly store: Store
  readonly hosting: Hosting
  /** Undefined when git over HTTP is turned off. */
  readonly git: GitServices | undefined
  /** Undefined while git over SSH or Git LFS is off. */
  readonly lfsTokens: LfsTokens | undefined
  /** Message of a 401 for a client without credentials. */
  readonly signInMessage: string
  /** Maximum size of a file in bytes; undefined: no limit. */
  readonly maxFileBytes: { readonly lfs: number | undefined; readonly packages: number | undefined }
}

/** 401 for a client without credentials: git, git-lfs and browsers ask for some then. */
export const signInRequired = ({ signInMessage }: StreamServices) =>
  new AllotError('unauthenticated', signInMessage)

type Declarations = ReturnType<typeof routesFor<Identity, Services>>

const declarations: Declarations = routesFor(mayHaveMoved)
export const route: Declarations['route'] = declarations.route
export const { reply, pageOf } = declarations

/** Declares the routes of a resource, see lib/api/kit.ts. */
export const at: ReturnType<typeof resourcesFor<Services>> = resourcesFor()

export const stream: ReturnType<typeof streamsFor<Identity, StreamServices>> = streamsFor()

/** Declares a route that changes a repository or what is in it. */
export const repositoryWrite = { auth: 'required', scope: 'write:repository', tag: 'repository' } as const

/** Declare routes that only administrators may call. */
export const adminRules = { tag: 'admin', scope: 'admin', reads: 'admin' } as const
export const adminRead = { auth: 'admin', scope: 'read:admin', tag: 'admin' } as const
export const adminWrite = { auth: 'admin', scope: 'write:admin', tag: 'admin' } as const

/** Replies with a page of a list, each item presented. */
export const replyPage = <T, B>({ items, total }: Found<T>, present: (item: T) => B) =>
  pageOf(
    items.map((item) => present(item)),
    total,
  )
