import type { IncomingMessage } from 'node:http'
import type { VNode } from 'preact'
import type { Identity } from '../../accounts/access.ts'
import { AllotError, type ErrorCode } from '../../errors.ts'
import type { ServedPage } from '../../host-pages/html-urls.ts'
import type { App } from '../../hosting/wire.ts'
import type { Auth } from '../../http/access.ts'
import type { Failure } from '../../http/failure.ts'
import type { LastingRights } from '../../http/lasting.ts'
import type { OpenDownload } from '../../http/responses.ts'
import type { SegmentsOf } from '../../http/route.ts'
import type { Brand } from '../../options/pages.ts'
import type { Scope } from '../../scopes.ts'
import type { Highlighter } from '../source/highlighter.ts'
import type { Form } from './form.ts'
import { type OtherNames, type Refusal, refusalOf } from './labels.ts'

/** What handlers of pages get. */
export interface PageServices extends App {
  readonly highlighter: Highlighter
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
  /** The form that is shown again. */
  readonly entered: Entered | undefined
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
  /** When the client may try again, of the error that the page is about. */
  readonly retry?: Pick<Failure, 'retryAfter' | 'isOutcomeUnknown'>
  /** The form that is shown again. */
  readonly entered?: Entered
}

/** A redirect (303) to another page. */
interface Redirect {
  readonly to: string
  /** A new secret for the session cookie, and its lifetime. */
  readonly secret?: { readonly value: string; readonly seconds?: number }
}

/** A page, a redirect, or a file to save. */
export type PageReply = View | Redirect | OpenDownload

export interface PageRoute {
  readonly method: 'GET' | 'POST'
  /** `{x}` marks a segment. */
  readonly path: string
  /** Whether the last parameter takes the rest of the path, with its slashes. */
  readonly takesRest?: boolean
  /** `none` for style sheets and scripts. */
  readonly auth: Auth | 'none'
  readonly scope?: Scope
  /**
   * The kind of page of a person or a repository; absent for others. A host may have such pages itself, so it
   * gets requests that find nothing here.
   */
  readonly kind?: ServedPage
  handle(request: PageRequest, services: PageServices): Promise<PageReply>
}

type UserOf<A> = A extends 'optional' ? Identity | null : Identity

/** The request of a route with this path and these rights. */
type RequestOf<Path extends string, A> = PageRequest<SegmentsOf<Path>, UserOf<A>>

/** Declares the route of a page, which is read unless it says `POST`. */
export const page = <const Path extends string, const A extends Auth>(
  route: Omit<PageRoute, 'method' | 'path' | 'auth' | 'handle'> & {
    method?: 'POST'
    path: Path
    auth: A
    handle: (request: RequestOf<Path, A>, services: PageServices) => Promise<PageReply>
  },
): PageRoute => ({ method: 'GET', ...route }) as unknown as PageRoute

/** A form that is shown again. */
export interface Entered {
  /** Path that the form is sent to. */
  readonly path: string
  /** What was entered. */
  readonly form: Form
  /** Why the form was refused; undefined when the user came back from its preview. */
  readonly refusal: Refusal | undefined
  /** Of the error that refused it. */
  readonly code?: ErrorCode
  /** Set when a part of the page shows why. */
  isShown: boolean
}

/** The value of the button that leads from a preview back to the form. */
export const EDIT = 'edit'

/** What a form does. */
export interface FormAction {
  /**
   * The page that asks first, unless the form was sent by that page; undefined when there is nothing to ask.
   */
  asks?(): View | undefined | Promise<View | undefined>
  /**
   * Makes the change.
   * @returns the path to go on to, or a page
   */
  run(): Promise<PageReply | string>
  /** The page with the form, on which it is shown again when it is refused. */
  page(): View | Promise<View>
  /** Path that a canceled preview leads to, for a form without anything entered that must be kept. */
  readonly cancelTo?: string
}

export interface FormRoute<Path extends string, A extends Auth> extends Pick<PageRoute, 'scope' | 'kind'> {
  readonly path: Path
  readonly auth: A
  /** The fields that have another name than the members that services name. */
  readonly names?: OtherNames
}

/** Declares the route of a form, whose fields show what was entered and why it was refused by themselves. */
export const form = <const Path extends string, const A extends Auth>(
  { names, ...route }: FormRoute<Path, A>,
  prepare: (request: RequestOf<Path, A>, services: PageServices) => FormAction | Promise<FormAction>,
): PageRoute =>
  page({
    ...route,
    method: 'POST',
    async handle(request, services) {
      const { path, form } = request
      const action = await prepare(request, services)
      try {
        if (form.text('do') === EDIT) return await canceled(action, { path, form })
        const question = isConfirmed(form) ? undefined : await action.asks?.()
        const reply = question ?? (await action.run())
        return typeof reply === 'string' ? { to: reply } : reply
      } catch (error) {
        const isSession = error instanceof AllotError && error.code === 'unauthenticated'
        if (isSession && route.auth !== 'optional') throw error
        return shownAgain(error, { path, form }, action.page, names)
      }
    },
  })

/**
 * Declares the pages and the forms about what their paths name, such as a repository: what `find` returns is
 * in their requests, with the services. A form is for the signed in.
 * @param usual what all of them have, unless one says otherwise
 * @param find throws AllotError not_found when there is no such thing, or the user may not know of it
 */
export const pagesAbout = <Found extends object, const A extends Auth, Own extends object = object>(
  usual: Pick<PageRoute, 'scope' | 'kind'> & { readonly auth: A },
  find: (request: PageRequest<string, UserOf<A>>, services: PageServices, declared: Own) => Promise<Found>,
) => {
  type Subject = Found & { readonly services: PageServices }
  const about = async (request: PageRequest, services: PageServices, declared: Own) =>
    ({ ...request, services, ...(await find(request as never, services, declared)) }) as never
  return {
    page: <const Path extends string>(
      declared: Own &
        Pick<PageRoute, 'takesRest' | 'kind' | 'scope'> & {
          readonly path: Path
          handle(request: RequestOf<Path, A> & Subject): Promise<PageReply>
        },
    ): PageRoute =>
      page<string, Auth>({
        ...usual,
        ...declared,
        handle: async (request, services) => declared.handle(await about(request, services, declared)),
      }),
    form: <const Path extends string>(
      declared: Own & Omit<FormRoute<Path, Auth>, 'auth'>,
      prepare: (request: RequestOf<Path, 'required'> & Subject) => FormAction | Promise<FormAction>,
    ): PageRoute =>
      form<string, Auth>({ ...usual, ...declared, auth: 'required' }, async (request, services) =>
        prepare(await about(request, services, declared)),
      ),
  }
}

type Sent = Pick<Entered, 'path' | 'form'>

const canceled = async ({ cancelTo, page }: FormAction, sent: Sent): Promise<PageReply> => {
  if (cancelTo !== undefined) return { to: cancelTo }
  return { ...(await page()), entered: { ...sent, refusal: undefined, isShown: false } }
}

/** Whether a form comes from the page that asks, by a button or by what must be typed there. */
const isConfirmed = (form: Form): boolean =>
  form.text('confirmed') !== '' || form.entries.some(([name]) => name === 'confirmation')

/** Statuses of forms that are refused for other reasons than what was entered. */
const REFUSED: Readonly<Partial<Record<ErrorCode, number>>> = {
  forbidden: 403,
  too_many_requests: 429,
  unavailable: 503,
}

/**
 * The page with a form, with what was entered and the message of the error that refused it.
 * @throws the error when the client did not cause it, or what the form is about does not exist anymore
 */
export const shownAgain = async (
  error: unknown,
  sent: Sent,
  page: () => View | Promise<View>,
  names?: OtherNames,
): Promise<View> => {
  if (!(error instanceof AllotError) || !isRefusal(error)) throw error
  const { code } = error
  const refusal = refusalOf(error, names)
  const entered = { ...sent, refusal, code, isShown: false }
  return { ...(await page()), status: REFUSED[code] ?? 422, retry: error, entered }
}

const isRefusal = ({ code, field, retryAfter }: AllotError): boolean => {
  if (code === 'not_found') return field !== undefined
  // A refusal for load; other causes are for the log.
  if (code === 'unavailable') return retryAfter !== undefined
  return code !== 'storage_full' && code !== 'misconfigured'
}
