import type { Identity } from '../accounts/identity.ts'
import type { Transport } from '../git/transport.ts'
import type { Hosting } from '../hosting.ts'
import { type Produce, routesFor, streamsFor } from '../http/index.ts'
import type { Markdown } from '../markdown/index.ts'
import type { QuotaEngine } from '../quota/index.ts'
import type { Store } from '../records/store.ts'
import type { Push } from '../repositories/push-journal.ts'

/** What the handlers of the API work with. */
export interface Services {
  readonly store: Store
  readonly hosting: Hosting
  readonly quota: QuotaEngine
  readonly markdown: Markdown
  /** Writes all that there is, as it is at one moment. */
  readonly exportTo: Produce
  readonly version: string
  /** `forgejo` is for clients written against a real Forgejo, and changes a few answers and nothing else. */
  readonly dialect: 'document' | 'forgejo'
  /** The OpenAPI document, for the URL that a request came by. */
  readonly documentFor: (apiUrl: string) => { openapi: string }
  /** Bytes that an attachment may have. */
  readonly largestAttachment: number
  /** What `GET /settings/api` tells of paging. */
  readonly pageLimits: { readonly default: number; readonly max: number }
}

type Declarations = ReturnType<typeof routesFor<Identity, Services>>

const declarations: Declarations = routesFor()
export const route: Declarations['route'] = declarations.route
export const { reply, pageOf } = declarations

/** What the handlers beside the API work with. */
export interface StreamServices {
  readonly store: Store
  readonly hosting: Hosting
  /** Undefined where the routes that use it are not served. */
  readonly transport: Transport | undefined
  /** Bytes that a file of each kind may have; undefined: any number. */
  readonly largest: { readonly lfs: number | undefined; readonly packages: number | undefined }
  /** Tells the host of a push that is counted. */
  readonly pushed: (push: Push) => void
  readonly failed: (error: unknown, fields: object) => void
}

export const stream: ReturnType<typeof streamsFor<Identity, StreamServices>> = streamsFor()
