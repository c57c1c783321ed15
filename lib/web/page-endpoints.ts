import type { IncomingMessage, ServerResponse } from 'node:http'
import findMyWay from 'find-my-way'
import type { Identity } from '../accounts/identity.ts'
import { AllotError } from '../errors.ts'
import { trackInFlight } from '../http/connection/in-flight.ts'
import { inPipelineOrder } from '../http/connection/pipelining.ts'
import { smugglingFault } from '../http/connection/smuggling-guard.ts'
import { ClientDisconnected, failedRequest, type Log, toFailure } from '../http/error-response.ts'
import type { Next } from '../http/index.ts'
import { checkScopes } from '../http/access.ts'
import { type BrowserSession, browserSessionOf, checkCsrf, csrfToken, sessionCookie } from './csrf.ts'
import { formOf, readForm } from './form.ts'
import { type PageUrl, pageUrl, requestPath } from './request-url.ts'
import type { PageReply, PageRequest, PageRoute, PageServices, View } from './route.ts'
import { type Asset, sendAsset, sendPage, sendRedirect } from './send.ts'

export interface PageDispatcher {
  /** A node:http listener that also fits Express and Connect: `next` is called for what is no page. */
  handler(req: IncomingMessage, res: ServerResponse, next?: Next): void
  /** Resolves when nothing is in flight. */
  idle(): Promise<void>
}

export interface PageDispatcherOptions {
  services: PageServices
  routes: readonly PageRoute[]
  assets: Readonly<Record<string, Asset>>
  /** The view of what went wrong. */
  failureView: (status: number, message: string) => View
  render: (view: View, frame: PageRequest['frame']) => string
  baseUrl: string | undefined
  /** Whether who somebody is comes from the host, and not from a session. */
  hasOwnLogin: boolean
  /** Bytes of a form. */
  bodyLimit: number
  log: Log
}

/** One request on its way. */
interface Exchange extends PageUrl {
  req: IncomingMessage
  res: ServerResponse
  browser: BrowserSession
}

interface Match {
  route: PageRoute
  params: Record<string, string>
}

export const createPageDispatcher = (options: PageDispatcherOptions): PageDispatcher => {
  const { services, assets, hasOwnLogin, log } = options
  const { sessions, identities } = services.hosting
  const flights = trackInFlight()
  const router = findMyWay({ maxParamLength: 255, onBadUrl: () => undefined })
  for (const route of options.routes)
    router.on(route.method, route.path.replace(/\{(\w+)\}/g, ':$1'), () => undefined, route)

  const find = (method: string | undefined, path: string): Match | undefined => {
    if (method !== 'GET' && method !== 'POST') return undefined
    const found = router.find(method, path)
    const route = found?.store as PageRoute | null | undefined
    return found && route ? { route, params: found.params as Record<string, string> } : undefined
  }

  const identify = async ({ req, browser }: Exchange): Promise<Identity | null> => {
    if (hasOwnLogin) return identities.authenticate(req)
    return browser.isNew ? null : ((await sessions.find(browser.secret)) ?? null)
  }

  const frameOf = ({ mount, site, browser }: Exchange, user: Identity | null): PageRequest['frame'] => ({
    at: (path) => `${mount}${path}`,
    formToken: csrfToken(browser.secret),
    user,
    hasSessions: !hasOwnLogin,
    site,
  })

  const answer = async (context: Exchange, { route, params }: Match): Promise<void> => {
    const { req, browser } = context
    const isForm = route.method === 'POST'
    const form = isForm ? await readForm(req, options.bodyLimit) : formOf(new URLSearchParams())
    if (isForm) checkCsrf(req, browser.secret, form.raw('form'), context.origin)
    const handle = async (user: Identity | null) => {
      checkWho(user, route)
      const { query } = context
      const frame = frameOf(context, user)
      const request = { user, frame, params, query, form, req, secret: browser.secret }
      return { user, reply: await route.handle(request, services) }
    }
    // A host's own login is not to be asked twice, and may make an account.
    const asked = hasOwnLogin || isForm ? await identify(context) : undefined
    const work = async () => handle(asked === undefined ? await identify(context) : asked)
    const { user, reply } = await (isForm ? work() : services.store.readTogether(work))
    deliver(context, user, reply)
  }

  const deliver = (context: Exchange, user: Identity | null, reply: PageReply): void => {
    const { res, browser, mount } = context
    if ('to' in reply) {
      const { secret } = reply
      const cookie = secret && sessionCookie(context, secret.value, secret.seconds)
      return sendRedirect(res, `${mount}${reply.to}`, cookie === undefined ? [] : ['Set-Cookie', cookie])
    }
    const html = options.render(reply, frameOf(context, user))
    sendPage(res, reply.status ?? 200, html, [
      ...(browser.isNew ? ['Set-Cookie', sessionCookie(context, browser.secret)] : []),
      ...(reply.retryAfter === undefined ? [] : ['Retry-After', String(reply.retryAfter)]),
    ])
  }

  const fail = (context: Exchange, error: unknown): void => {
    const { req, res, path, mount } = context
    if (error instanceof ClientDisconnected) return void res.destroy()
    try {
      const { status, message, retryAfter } = toFailure(error, log, failedRequest(req, res, path))
      if (res.headersSent) return void res.destroy()
      // Whoever has a login of their own is sent to nobody else's.
      if (status === 401 && !hasOwnLogin) return sendRedirect(res, `${mount}${signInFor(context)}`)
      const shown = status === 401 ? 403 : status
      deliver(context, null, { ...options.failureView(shown, message), status: shown, retryAfter })
    } catch {
      res.destroy()
    }
  }

  const begin = (req: IncomingMessage, res: ServerResponse, match: Match): void => {
    flights.begin(res)
    try {
      const place = pageUrl(req, options.baseUrl)
      const context = { ...place, req, res, browser: browserSessionOf(req, place) }
      const fault = smugglingFault(req)
      if (fault === undefined) answer(context, match).catch((error) => fail(context, error))
      else {
        res.shouldKeepAlive = false
        setImmediate(() => fail(context, fault))
      }
    } catch (error) {
      sendPage(res, error instanceof AllotError ? 400 : 500, '')
    }
  }

  /** The path of a GET comes along, to go on to it when signed in; of a form that was sent there is no going on. */
  const signInFor = ({ req, path }: Exchange): string =>
    req.method === 'POST' || path === '/' ? SIGN_IN : `${SIGN_IN}?to=${encodeURIComponent(path)}`

  return {
    handler(req, res, next) {
      const path = requestPath(req)
      const method = req.method === 'HEAD' ? 'GET' : req.method
      const found = find(method, path)
      const known = (['GET', 'POST'] as const).filter((one) => find(one, path) !== undefined)
      const isAsset = Object.hasOwn(assets, path)
      if (isAsset && method === 'GET')
        return inPipelineOrder(req, res, () => sendAsset(req, res, assets[path]!))
      if (found !== undefined) return inPipelineOrder(req, res, () => begin(req, res, found))
      if (known.length > 0 || isAsset) return sendPage(res, 405, '', ['Allow', allowing(known, isAsset)])
      if (next === undefined) sendPage(res, 404, '')
      else next()
    },
    idle: flights.idle,
  }
}

export const SIGN_IN = '/-/sign-in'

const allowing = (known: readonly string[], isAsset: boolean): string =>
  [
    ...(isAsset || known.includes('GET') ? ['GET', 'HEAD'] : []),
    ...known.filter((one) => one !== 'GET'),
  ].join(', ')

const checkWho = (user: Identity | null, { who, scope }: PageRoute): void => {
  if (who === 'anyone') return
  if (user === null) throw new AllotError('unauthenticated', 'sign in first')
  if (scope !== undefined) checkScopes(user, { scope })
  if (who === 'admin' && !user.admin)
    throw new AllotError('forbidden', 'this page is for administrators alone')
}
