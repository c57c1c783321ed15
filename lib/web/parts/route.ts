import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import type { VNode } from 'preact'
import type { Identity } from '../../accounts/access.ts'
import { AllotError, type ErrorCode } from '../../errors.ts'
import type { Brand } from '../../host-pages/brand.ts'
import type { HtmlUrls, ServedPage } from '../../host-pages/html-urls.ts'
import type { Hosting } from '../../hosting/index.ts'
import type { Auth } from '../../http/access.ts'
import type { LastingRights } from '../../http/lasting.ts'
import type { SegmentsOf } from '../../http/route.ts'
import type { Markdown } from '../../markdown/index.ts'
import type { QuotaEngine } from '../../quota/index.ts'
import type { Store } from '../../records/store.ts'
import type { Scope } from '../../scopes.ts'
import type { Highlighter } from '../source/highlighter.ts'
import type { Form } from './form.ts'
import { type OtherNames, type Refusal, refusalOf } from './labels.ts'

/** Services that handlers of pages use. */
export interface PageServices {
  readonly store: Store
  readonly hosting: Hosting
  readonly quota: QuotaEngine
  readonly htmlUrls: HtmlUrls
  readonly markdown: Markdown
  readonly highlighter: Highlighter
  readonly settings: PageSettings
}

interface PageSettings {
  /** Share of a limit, between 0 and 1, from which an owner counts as near the limit. */
  readonly warnAt: number
  /** Whether names link to their `html_url`, for hosts with pages there. */
  readonly links: boolean
  /** Whether repositories can be cloned from this server. */
  readonly clones: boolean
  /** The pages of people and repositories that are served here, and not by the host. */
  readonly servedPages: ReadonlySet<ServedPage>
  /** False when the host authenticates users itself. */
  readonly hasSessions: boolean
  readonly repositoryCreators: 'users' | 'administrators'
  /** Whether access tokens sign in. */
  readonly hasTokens: boolean
  /** Whether git is served over SSH, with the keys of users. */
  readonly hasSsh: boolean
}

/** Where a page is mounted, and who views it. */
export interface PageContext {
  /** The pages of people and repositories that are served here. */
  readonly servedPages: ReadonlySet<ServedPage>
  /** @returns the path of a page with the mount point before it, for links and forms */
  urlOf(path: string): string
  /** Path of the page itself, without the mount point and the query. */
  readonly path: string
  /** Query string of the page, without its question mark. */
  readonly search: string
  /** CSRF token that every form must send. */
  readonly formToken: string
  readonly user: Identity | null
  /** @returns the URL of the host's picture of an account; undefined when the host has none */
  avatarUrl(name: string): string | undefined
  /** False when the host authenticates users itself. */
  readonly hasSessions: boolean
  /** Whether access tokens sign in. */
  readonly hasTokens: boolean
  /** The host's page to sign in, and that to sign out, each with the way back to this page. */
  readonly loginUrl: string | undefined
  readonly logoutUrl: string | undefined
  readonly brand: Brand
  /**
   * The service and its API, for commands that send a token; undefined when the URL is unknown, or tokens are
   * turned off.
   */
  readonly urls: { readonly site: string; readonly api: string } | undefined
}

export interface PageRequest<Name extends string = string, User = Identity | null> {
  readonly user: User
  /** URL of the service, without a slash at the end; undefined when unknown. */
  readonly site: string | undefined
  /** URL of the place where the pages are mounted, without a slash at the end. */
  readonly pagesUrl: string
  /** Path of the page, percent-encoded, without the mount point and the query. */
  readonly path: string
  /** Client whose budgets the request counts against (`lib/clients.ts`). */
  readonly client: string
  /** IP address of the client. */
  readonly address: string
  readonly params: Readonly<Record<Name, string>>
  readonly query: URLSearchParams
  readonly form: Form
  readonly req: IncomingMessage
  /** Secret in the session cookie. */
  readonly secret: string
  /** For downloads. */
  readonly whileAllowed: LastingRights<Identity>['whileAllowed']
}

/** Path at which the pages are mounted, without a slash at the end. */
export const mountOf = (pagesUrl: string): string => new URL(pagesUrl).pathname.replace(/\/$/, '')

/** A page above the one that is shown. */
export interface Crumb {
  readonly name: string
  /** Path of the page. */
  readonly to: string
}

export interface View {
  readonly status?: number
  readonly title: string
  /** The pages above this one, from the outermost. */
  readonly crumbs?: readonly Crumb[]
  readonly body: VNode
  /** Value of the Retry-After header, in seconds. */
  readonly retryAfter?: number | undefined
  /** Why the form was refused. */
  readonly refusal?: Refusal
}

/** A redirect (303) to another page. */
interface Redirect {
  readonly to: string
  /** A new secret for the session cookie, and its lifetime. */
  readonly secret?: { readonly value: string; readonly seconds?: number }
}

/** A file to save. */
export interface Download {
  readonly fileName: string
  readonly type: string
  /** Text, or opens the file. */
  readonly content: string | ((signal: AbortSignal) => Promise<Readable>)
  /** Bytes; required for a stream. */
  readonly size?: number
}

export type PageReply = View | Redirect | Download

export interface PageRoute {
  readonly method: 'GET' | 'POST'
  /** `{x}` marks a segment. */
  readonly path: string
  /** Whether the last parameter takes the rest of the path, with its slashes. */
  readonly takesRest?: boolean
  readonly auth: Auth
  readonly scope?: Scope
  /**
   * The kind of page of a person or a repository; absent for others. A host may have such pages itself, so it
   * gets requests that find nothing here.
   */
  readonly kind?: ServedPage
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

/** The errors that a form shows, with their status. Others get the error page. */
export type Refusals = Readonly<Partial<Record<ErrorCode, number>>>

/**
 * Refusals of a form with a password that can be sent again later: too many were wrong, or too many are being
 * checked.
 */
export const BUSY = { too_many_requests: 429, unavailable: 503 } as const satisfies Refusals

/**
 * Shows a form again, with the message of the error that refused it.
 * @throws the error, unless it is one of those that the form shows
 */
export const refusedForm = async (
  error: unknown,
  refusals: Refusals,
  showAgain: (failure: Refusal, status: number) => View | Promise<View>,
  names?: OtherNames,
): Promise<View> => {
  const status = error instanceof AllotError ? refusals[error.code] : undefined
  if (status === undefined) throw error
  const refusal = refusalOf(error as AllotError, names)
  const { retryAfter } = error as AllotError
  return { ...(await showAgain(refusal, status)), status, retryAfter, refusal }
}
