import type { ServerResponse } from 'node:http'
import type { Identity } from '../accounts/access.ts'
import { addressOf, clientOf } from '../clients.ts'
import type { App } from '../hosting/wire.ts'
import { Dispatcher, type Endpoints, type RequestContext } from '../http/dispatcher.ts'
import type { FindMovedPath } from '../http/former-names.ts'
import type { Failure } from '../http/index.ts'
import { Router } from '../http/router.ts'
import type { Brand } from '../options/pages.ts'
import { failureView, renderDocument } from './document.tsx'
import { PageResponses } from './page-responses.ts'
import { pageRoutesFor } from './page-routes.ts'
import { type Form, formOf, readForm } from './parts/form.ts'
import { type PageReply, type PageRoute, type PageServices, page, type View } from './parts/route.ts'
import { checkCsrf, csrfToken, SESSION_ENDED, sessionCookie, signInTo } from './session.tsx'
import { Highlighter } from './source/highlighter.ts'
import { type Asset, assetsOf } from './styles/index.ts'
import { hostLinks, newVisit, type Visit } from './visit.ts'

/** The App, and what finds pages whose path has a former name. */
export interface PagesApp extends App {
  readonly movedPath: FindMovedPath<Identity>
}

/** The web pages, on a dispatcher of their own: storage, administration, people and repositories. */
export const createPages = (given: PagesApp) => {
  const app = { ...given, highlighter: new Highlighter() }
  const { hosting, htmlUrls, options, host, movedPath } = app
  const { baseUrl, trustedProxies } = options
  const responses = new PageResponses(options.pages, htmlUrls.avatarOrigin)
  const pages = new Dispatcher<Identity>({
    endpoints: [new PageEndpoints(app, responses)],
    authenticate: (req) => hosting.identities.authenticate(req),
    userNow: (user) => hosting.identities.now(user),
    clientOf: (req, user) => clientOf(req, user, trustedProxies),
    baseUrl,
    trustedProxies,
    movedPath,
    unmatched: (_req, res, next) => (next === undefined ? responses.page(res, 404, '') : next()),
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

interface AssetRoute {
  readonly method: 'GET'
  readonly path: string
  readonly auth: 'none'
  readonly asset: Asset
}

/** Stands for the route of a request for a known path with a method that the path does not take. */
const WRONG_METHOD = { method: 'GET', path: '', auth: 'none' } as const

type AnyRoute = PageRoute | AssetRoute | typeof WRONG_METHOD
type AnyReply = PageReply | Asset | { readonly allow: string }

/** The request of a page. */
interface Context extends RequestContext<Identity, AnyRoute> {
  /** Derived from the request when it is first needed. */
  visit?: Visit
  /** Fields of an authenticated POST. */
  form?: Form
}

/**
 * The pages for people. A request of a form is authenticated by its session and by the CSRF token of the
 * form.
 */
class PageEndpoints implements Endpoints<Identity, AnyRoute, AnyReply> {
  readonly basePath = ''
  readonly accessMessages = {
    unauthenticated: 'sign in first',
    notAdmin: 'only administrators can open this page',
  }
  readonly #app: PageServices
  readonly #responses: PageResponses
  readonly router: Endpoints<Identity, AnyRoute>['router']

  constructor(app: PageServices, responses: PageResponses) {
    this.#app = app
    this.#responses = responses
    const router = routerOf(app)
    this.router = {
      match: (method, path, isLast) =>
        router.match(method, path) ?? (isLast ? { params: {}, route: NO_PAGE } : undefined),
    }
  }

  async authenticate(context: Context): Promise<Identity | null> {
    const { hosting, options, settings } = this.#app
    const { sessions, identities } = hosting
    const { browser } = this.#visitOf(context)
    const { req, route } = context
    if (route.method === 'POST') context.form = await readForm(req, options.maxBodySize)
    if (!settings.hasSessions) context.user = await identities.authenticate(context.req)
    else context.user = browser.isNew ? null : ((await sessions.find(browser.secret)) ?? null)
    // A form that needs a session is refused without one, whatever its CSRF token.
    const isRefused = context.user === null && 'auth' in route && route.auth !== 'optional'
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
    return 'kind' in route && route.kind !== undefined
  }

  async handle(context: Context): Promise<AnyReply> {
    const { req, route, url, user = null, form = NO_FORM } = context
    if ('asset' in route) return route.asset
    if (!('handle' in route)) return { allow: allowHeader(context.params.allow!) }
    const params = context.params as Record<string, string>
    const query = new URLSearchParams(url.search)
    const { trustedProxies } = this.#app.options
    const { site, browser, origin, mount } = this.#visitOf(context)
    const { whileAllowed } = context.rights
    const place = { site, pagesUrl: origin + mount, path: url.path, whileAllowed }
    const client = clientOf(req, user, trustedProxies)
    const address = addressOf(req, trustedProxies)
    return route.handle(
      { ...place, user, params, query, form, req, client, address, secret: browser.secret },
      this.#app,
    )
  }

  async send(context: Context, reply: AnyReply): Promise<void> {
    const { req, res, user = null } = context
    if (typeof reply === 'function') await this.#responses.download(context, reply)
    else if ('allow' in reply) {
      res.setHeader('Allow', reply.allow)
      this.#sendView(context, failureView(405, 'this page does not take such a form'), user)
    } else if ('tag' in reply) this.#responses.asset(req, res, reply)
    else if ('to' in reply) {
      const visit = this.#visitOf(context)
      const { to, secret } = reply
      if (secret !== undefined) addCookie(res, sessionCookie(visit, secret.value, secret.seconds))
      this.#responses.redirect(res, `${visit.mount}${to}`)
    } else this.#sendView(context, reply, user)
  }

  sendFailure(context: Context, { status, message, retryAfter }: Failure): void {
    const { res, url } = context
    const { settings, options } = this.#app
    if (!this.#hasVisit(context)) return this.#responses.page(res, status, '')
    if (status === 401) {
      const login = settings.hasSessions
        ? url.mount + signInPath(context)
        : hostLinks(context, this.#visitOf(context), options.pages).loginUrl
      if (login !== undefined) return this.#responses.redirect(res, login)
    }
    const view = failureView(status === 401 ? 403 : status, message, context.form !== undefined)
    this.#sendView(context, { ...view, retryAfter }, context.user ?? null)
  }

  #sendView(context: Context, view: View, user: Identity | null): void {
    const visit = this.#visitOf(context)
    const { options, settings, htmlUrls } = this.#app
    const { basePath, pages: brand } = options
    const { servedPages, hasSessions, hasTokens } = settings
    const { site, browser } = visit
    const { isNew, secret } = browser
    const { status = 200, retryAfter } = view
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
    const more = retryAfter === undefined ? [] : ['Retry-After', String(retryAfter)]
    this.#responses.page(context.res, status, html, more)
  }

  /** @throws AllotError bad_request for a malformed Host header */
  #visitOf(context: Context): Visit {
    context.visit ??= newVisit(context, this.#app.options)
    return context.visit
  }

  #hasVisit(context: Context): boolean {
    try {
      return this.#visitOf(context) !== undefined
    } catch {
      return false
    }
  }
}

/** Keeps cookies that the host has set, which `writeHead` would replace. */
const addCookie = (res: ServerResponse, cookie: string) => res.appendHeader('Set-Cookie', cookie)

const ROUTER_OPTIONS = { ignoreExtraSlashes: false, maxParamLength: 255, wrongMethod: WRONG_METHOD }

/** Pages and forms have no other methods. */
const allowHeader = (methods: string): string =>
  ['GET', 'HEAD', 'POST'].filter((name) => methods.includes(name)).join(', ')

const routerOf = ({ options, settings }: PageServices): Router<AnyRoute> =>
  new Router<AnyRoute>(
    [...pageRoutesFor(settings, options.requireSignIn), ...assetRoutesOf(options.pages)],
    ROUTER_OPTIONS,
  )

/** Answers every other path with the 404 page. */
const NO_PAGE = page({ path: '/', auth: 'optional', handle: async () => failureView(404, '') })

const NO_FORM = formOf(new URLSearchParams())

const assetRoutesOf = (brand: Brand) =>
  Object.entries(assetsOf(brand)).map(
    ([path, asset]): AssetRoute => ({ method: 'GET', path, auth: 'none', asset }),
  )

/** Signing in leads back to the page of a GET; a form is not sent again, and the user must know that. */
const signInPath = ({ req, url: { path, search } }: Context): string =>
  req.method === 'POST' ? SESSION_ENDED : signInTo(path, search)
