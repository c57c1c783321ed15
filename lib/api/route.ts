import type { Identity } from '../accounts/access.ts'
import type { LfsTokens } from '../content/lfs-tokens.ts'
import { AllotError } from '../errors.ts'
import type { App } from '../hosting/wire.ts'
import { type Produce, streamsFor } from '../http/index.ts'
import { resourcesFor } from './kit.ts'

export type { Recipient } from './view.ts'

/** What handlers of routes get: the App, and what is made for its listener. */
export interface Services extends App {
  /** Writes an export of the whole store, from one snapshot. */
  readonly exportTo: Produce
  /** @returns the OpenAPI document of a service at `apiUrl` */
  readonly documentFor: (apiUrl: string) => Promise<{ openapi: string }>
  /** Undefined while git over SSH or Git LFS is off. */
  readonly lfsTokens: LfsTokens | undefined
}

/** 401 for a client without credentials: git, git-lfs and browsers ask for some then. */
export const signInRequired = ({ settings }: Services) =>
  new AllotError('unauthenticated', settings.signInMessage)

/** The message of Forgejo for 404. */
export const NOT_FOUND = "The target couldn't be found."

export const missing = () => new AllotError('not_found', NOT_FOUND)

/** Declares the routes of a resource, see lib/api/kit.ts. */
export const at: ReturnType<typeof resourcesFor<Services>> = resourcesFor()

export const stream: ReturnType<typeof streamsFor<Identity, Services>> = streamsFor()

/** Declare routes that only administrators may call. */
export const adminRules = { scope: 'admin', reads: 'admin' } as const
