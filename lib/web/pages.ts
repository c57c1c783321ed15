import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Identity } from '../accounts/access.ts'
import { addressOf, clientOf } from '../clients.ts'
import type { App } from '../hosting/wire.ts'
import { Dispatcher, type Endpoints, type RequestContext } from '../http/dispatcher.ts'
import { type Failure, retryAfterHeader } from '../http/failure.ts'
import { type FindMovedPath, movedStatus } from '../http/former-names.ts'
import { sendEmpty } from '../http/index.ts'
import { PLAIN_PATH } from '../http/mount.ts'
import { isPageView, parseRequestUrl, type RequestUrl } from '../http/request-url.ts'
import type { Sendable, StreamReply } from '../http/responses.ts'
import { type NoMatch, Router } from '../http/router.ts'
import { openDownload } from '../http/send.ts'
import type { Brand } from '../options/pages.ts'
import { failureView, renderDocument } from './document.tsx'
import { assetReply, pageReply, protectionOf, redirectTo } from './page-responses.ts'
import { pageRoutesFor } from './page-routes.ts'
import { type Form, formOf, readForm } from './parts/form.ts'
import type { PageReply, PageRoute, PageServices, View } from './parts/route.ts'
import { checkCsrf, csrfToken, SESSION_ENDED, sessionCookie, signInTo } from './session.tsx'
import { Highlighter } from './source/highlighter.ts'
import { assetsOf } from './styles/index.ts'
import { hostLinks, newVisit, type Visit } from './visit.ts'

/** The App, and what finds pages whose path has a former name. */
export interface PagesApp extends App {
  readonly movedPath: FindMovedPath<Identity>
}

/** The web pages, on a dispatcher of their own: storage, administration, people and repositories. */
export const createPages = (given: PagesApp) => {
  const app = { ...given, highlighter: new Highlighter() }
  const { hosting, options, host, movedPath } = app
  const { baseUrl, trustedProxies } = options
  const endpoints = new PageEndpoints(app)
  const pages = new Dispatcher<Identity>({
    endpoints: [endpoints],
    authenticate: (req) => hosting.identities.authenticate(req),
    userNow: (user) => hosting.identities.now(user),
    clientOf: (req, user) => clientOf(req, user, trustedProxies),
    baseUrl,
    trustedProxies,
    movedPath,
    routesName: 'pages',
    unmatched(req, res, next) {
      if (next !== undefined) return next()
      const page = endpoints.withoutSlash(req)
      if (page === undefined) sendEmpty(res, 404)
      else sendEmpty(res, movedStatus(req.method), ['Location', page])
    },
    log: host.log,
  })
  return {
    handler: pages.handler,
    /** Waits for the responses in flight, and ends the worker threads. */
    async close() {
      await pages.idle()
      await app.highlighter.close()
    },
  }
}

/** The request of a page. */
interface Context extends RequestContext<Identity, PageRoute> {
  /** Derived from the request when it is first needed. */
  visit?: Visit
  /** Fields of an authenticated POST. */
  form?: Form
}

/**
 * The pages for people. A request of a form is authenticated by its session and by the CSRF token of the
 * form.
 */
class PageEndpoints implements Endpoints<Identity, PageRoute> {
  readonly basePath = ''
  readonly router: Router<PageRoute>
  readonly accessMessages = {
    unauthenticated: 'sign in first',
    notAdmin: 'only administrators can open this page',
  }
  /** A page of an error shows who has signed in. */
  readonly otherwise = { auth: 'optional' } as const
  readonly #app: PageServices
  readonly #protection: Readonly<Record<string, string>>

  constructor(app: PageServices) {
    this.#app = app
    const { options, settings, htmlUrls } = app
    this.#protection = protectionOf(options.pages, htmlUrls.avatarOrigin)
    const routes = [...pageRoutesFor(settings, options.requireSignIn), ...assetRoutesOf(options.pages)]
    this.router = new Router<PageRoute>(routes, { ignoreExtraSlashes: false, maxParamLength: 255 })
  }

  /** Paths below `/-/` and the root are those of Allot alone; a host may have any other. */
  takes(req: IncomingMessage, { path }: RequestUrl, { allow }: NoMatch, isLast: boolean): boolean {
    if (allow && (path === '/' || path.startsWith('/-/'))) return true
    return isLast && isPageView(req) && this.withoutSlash(req) === undefined
  }

  /**
   * The URL of the page that a GET means whose path ends with a slash, if nothing else has the path. Only a
   * plain path: with `//host/` a redirect would lead to another server. That of git is not a page.
   */
  withoutSlash(req: IncomingMessage): string | undefined {
    const { path = '', search = '', mount = '' } = parseRequestUrl(req, '') ?? {}
    const page = path.slice(0, -1)
    const isPlain = path.endsWith('/') && PLAIN_PATH.test(page) && !page.endsWith('.git')
    const isRead = req.method === 'GET' || req.method === 'HEAD'
    if (!isPlain || !isRead || this.router.match('GET', page).route === undefined) return undefined
    return mount + page + (search && `?${search}`)
  }

  async authenticate(context: Context): Promise<Identity | null> {
    const { hosting, options, settings } = this.#app
    const { sessions, identities } = hosting
    const { browser } = this.#visitOf(context)
    const { req, route } = context
    if (route?.method === 'POST') context.form = await readForm(req, options.maxBodySize, context)
    if (!settings.hasSessions) context.user = await identities.authenticate(context.req)
    else context.user = browser.isNew ? null : ((await sessions.find(browser.secret)) ?? null)
    // A form that needs a session is refused without one, whatever its CSRF token.
    const isRefused = context.user === null && route?.auth !== 'optional'
    // After the user is known, whom the page of the failure shows.
    if (context.form !== undefined && !isRefused) checkCsrf(browser.secret, context.form.raw('form'))
    return context.user
  }

  /** A host can mount the pages elsewhere than the API. */
  urlOf(context: Context): string {
    const { origin, mount } = this.#visitOf(context)
    return origin + mount
  }

  /** The path of a page of a person or a repository may be one of the host's own. */
  passesOn({ route }: Context): boolean {
    return route?.kind !== undefined
  }

  async answer(context: Context): Promise<Sendable> {
    const { req, res, route } = context
    if (route === undefined) return this.#unmatched(context)
    const reply = await this.#call(context, route)
    if (typeof reply === 'function') {
      // The host may have set others.
      if (route.auth === 'none') res.appendHeader('Vary', 'Accept-Encoding')
      else context.rights.watch(context.signal(), () => res.destroy())
      return this.#protected(await openDownload(req, res, reply))
    }
    if (!('to' in reply)) return this.#view(context, reply)
    const visit = this.#visitOf(context)
    const { to, secret } = reply
    if (secret !== undefined) addCookie(res, sessionCookie(visit, secret.value, secret.seconds))
    return this.#protected(redirectTo(`${visit.mount}${to}`))
  }

  #call(context: Context, route: PageRoute): Promise<PageReply> {
    const { req, url, user = null, form = NO_FORM } = context
    const params = context.params as Record<string, string>
    const query = new URLSearchParams(url.search)
    const { trustedProxies } = this.#app.options
    const { site, browser, origin, mount } = this.#visitOf(context)
    const { whileAllowed } = context.rights
    const place = { site, pagesUrl: origin + mount, path: url.path, whileAllowed }
    const address = addressOf(req, trustedProxies)
    return route.handle(
      { ...place, user, params, query, form, req, client: context.client(), address, secret: browser.secret },
      this.#app,
    )
  }

  /** The page of a path that no route takes, or that does not take the method. */
  #unmatched(context: Context): Sendable {
    if (!context.allow) return this.#view(context, failureView(404, ''))
    context.res.setHeader('Allow', allowHeader(context.allow))
    const isForm = context.req.method === 'POST'
    const problem = isForm
      ? 'this page does not take such a form'
      : 'this address only takes forms: go back to the page with the form'
    return this.#view(context, failureView(405, problem))
  }

  failure(context: Context, failure: Failure): Sendable {
    const { status, message } = failure
    const { url } = context
    const { settings, options } = this.#app
    try {
      this.#visitOf(context)
    } catch {
      return this.#protected(pageReply(status, ''))
    }
    if (status === 401) {
      const login = settings.hasSessions
        ? url.mount + signInPath(context)
        : hostLinks(context, this.#visitOf(context), options.pages).loginUrl
      if (login !== undefined) return this.#protected(redirectTo(login))
    }
    const view = failureView(status === 401 ? 403 : status, message, context.form !== undefined)
    return this.#view(context, { ...view, retry: failure })
  }

  #protected(reply: StreamReply): Sendable {
    return { ...reply, headers: { ...this.#protection, ...reply.headers } }
  }

  #view(context: Context, view: View): Sendable {
    const { user = null } = context
    const visit = this.#visitOf(context)
    const { options, settings, htmlUrls } = this.#app
    const { basePath, pages: brand } = options
    const { servedPages, hasSessions, hasTokens } = settings
    const { site, browser } = visit
    const { isNew, secret } = browser
    const { status = 200, retry } = view
    const html = renderDocument(view, {
      urlOf: (path) => `${visit.mount}${path}`,
      path: context.url.path,
      search: context.url.search,
      formToken: csrfToken(secret),
      user,
      ...hostLinks(context, visit, brand),
      avatarUrl: (name) => htmlUrls.avatar(name),
      hasSessions,
      hasTokens,
      servedPages,
      brand,
      urls: site === undefined || !hasTokens ? undefined : { site, api: site + basePath },
    })
    if (isNew) addCookie(context.res, sessionCookie(visit, secret))
    return this.#protected(pageReply(status, html, retryAfterHeader({ ...retry, status })))
  }

  /** @throws AllotError bad_request for a malformed Host header */
  #visitOf(context: Context): Visit {
    context.visit ??= newVisit(context, this.#app.options)
    return context.visit
  }
}

/** Keeps cookies that the host has set, which `writeHead` would replace. */
const addCookie = (res: ServerResponse, cookie: string) => res.appendHeader('Set-Cookie', cookie)

/** Pages and forms have no other methods. */
const allowHeader = (methods: string): string =>
  ['GET', 'HEAD', 'POST'].filter((name) => methods.includes(name)).join(', ')

const NO_FORM = formOf(new URLSearchParams())

const assetRoutesOf = (brand: Brand): PageRoute[] =>
  Object.entries(assetsOf(brand)).map(([path, asset]) => ({
    method: 'GET',
    path,
    auth: 'none',
    handle: async () => async (request) => assetReply(request, asset),
  }))

/** Signing in leads back to the page of a GET; a form is not sent again, and the user must know that. */
const signInPath = ({ req, url: { path, search } }: Context): string =>
  req.method === 'POST' ? SESSION_ENDED : signInTo(path, search)
