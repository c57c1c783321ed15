import type { IncomingMessage, ServerResponse } from 'node:http'
import findMyWay from 'find-my-way'
import { AllotError } from '../errors.ts'
import type { Identity } from '../hosting/identity.ts'
import { failedOf, type Log, translate } from '../http/errors.ts'
import { countFlights } from '../http/flights.ts'
import { framingFault } from '../http/framing.ts'
import { ClientGone } from '../http/gone.ts'
import type { Next } from '../http/index.ts'
import { checkScopes } from '../http/scopes.ts'
import { inTurn } from '../http/turns.ts'
import { formOf, readForm } from './form.ts'
import { type Place, pathIn, placeOf } from './place.ts'
import type { PageReply, PageRequest, PageRoute, PageServices, View } from './route.ts'
import { type Asset, sendAsset, sendOn, sendPage } from './send.ts'
import { checkForm, cookieOf, formTokenOf, type Visitor, visitorOf } from './visitor.ts'

export interface PageServing {
  /** A node:http listener that also fits Express and Connect: `next` is called for what is no page. */
  handler(req: IncomingMessage, res: ServerResponse, next?: Next): void
  /** Resolves when nothing is in flight. */
  idle(): Promise<void>
}

export interface PageOptions {
  services: PageServices
  routes: readonly PageRoute[]
  assets: Readonly<Record<string, Asset>>
  /** The view of what went wrong. */
  failed: (status: number, message: string) => View
  render: (view: View, frame: PageRequest['frame']) => string
  baseUrl: string | undefined
  /** Whether who somebody is comes from the host, and not from a session. */
  hasOwnLogin: boolean
  /** Bytes of a form. */
  bodyLimit: number
  log: Log
}

/** One request on its way. */
interface Exchange extends Place {
  req: IncomingMessage
  res: ServerResponse
  visitor: Visitor
}

interface Match {
  route: PageRoute
  params: Record<string, string>
}

export const createPageServing = (options: PageOptions): PageServing => {
  const { services, assets, hasOwnLogin, log } = options
  const { sessions, identities } = services.hosting
  const flights = countFlights()
  const ways = findMyWay({ maxParamLength: 255, onBadUrl: () => undefined })
  for (const route of options.routes)
    ways.on(route.method, route.path.replace(/\{(\w+)\}/g, ':$1'), () => undefined, route)

  const find = (method: string | undefined, path: string): Match | undefined => {
    if (method !== 'GET' && method !== 'POST') return undefined
    const found = ways.find(method, path)
    const route = found?.store as PageRoute | null | undefined
    return found && route ? { route, params: found.params as Record<string, string> } : undefined
  }

  const identify = async ({ req, visitor }: Exchange): Promise<Identity | null> => {
    if (hasOwnLogin) return identities.authenticate(req)
    return visitor.isNew ? null : ((await sessions.find(visitor.secret)) ?? null)
  }

  const frameOf = ({ mount, site, visitor }: Exchange, user: Identity | null): PageRequest['frame'] => ({
    at: (path) => `${mount}${path}`,
    formToken: formTokenOf(visitor.secret),
    user,
    hasSessions: !hasOwnLogin,
    site,
  })

  const answer = async (exchange: Exchange, { route, params }: Match): Promise<void> => {
    const { req, visitor } = exchange
    const isForm = route.method === 'POST'
    const form = isForm ? await readForm(req, options.bodyLimit) : formOf(new URLSearchParams())
    if (isForm) checkForm(req, visitor.secret, form.raw('form'), exchange.origin)
    const handle = async (user: Identity | null) => {
      checkWho(user, route)
      const { query } = exchange
      const frame = frameOf(exchange, user)
      const request = { user, frame, params, query, form, req, secret: visitor.secret }
      return { user, reply: await route.handle(request, services) }
    }
    // A host's own login is not to be asked twice, and may make an account.
    const asked = hasOwnLogin || isForm ? await identify(exchange) : undefined
    const work = async () => handle(asked === undefined ? await identify(exchange) : asked)
    const { user, reply } = await (isForm ? work() : services.store.together(work))
    deliver(exchange, user, reply)
  }

  const deliver = (exchange: Exchange, user: Identity | null, reply: PageReply): void => {
    const { res, visitor, mount } = exchange
    if ('to' in reply) {
      const { secret } = reply
      const cookie = secret && cookieOf(exchange, secret.value, secret.seconds)
      return sendOn(res, `${mount}${reply.to}`, cookie === undefined ? [] : ['Set-Cookie', cookie])
    }
    const html = options.render(reply, frameOf(exchange, user))
    sendPage(res, reply.status ?? 200, html, [
      ...(visitor.isNew ? ['Set-Cookie', cookieOf(exchange, visitor.secret)] : []),
      ...(reply.retryAfter === undefined ? [] : ['Retry-After', String(reply.retryAfter)]),
    ])
  }

  const fail = (exchange: Exchange, error: unknown): void => {
    const { req, res, path, mount } = exchange
    if (error instanceof ClientGone) return void res.destroy()
    try {
      const { status, message, retryAfter } = translate(error, log, failedOf(req, res, path))
      if (res.headersSent) return void res.destroy()
      // Whoever has a login of their own is sent to nobody else's.
      if (status === 401 && !hasOwnLogin) return sendOn(res, `${mount}${signInFor(exchange)}`)
      const shown = status === 401 ? 403 : status
      deliver(exchange, null, { ...options.failed(shown, message), status: shown, retryAfter })
    } catch {
      res.destroy()
    }
  }

  const begin = (req: IncomingMessage, res: ServerResponse, match: Match): void => {
    flights.begin(res)
    try {
      const place = placeOf(req, options.baseUrl)
      const exchange = { ...place, req, res, visitor: visitorOf(req, place) }
      const fault = framingFault(req)
      if (fault === undefined) answer(exchange, match).catch((error) => fail(exchange, error))
      else {
        res.shouldKeepAlive = false
        setImmediate(() => fail(exchange, fault))
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
      const path = pathIn(req)
      const method = req.method === 'HEAD' ? 'GET' : req.method
      const found = find(method, path)
      const known = (['GET', 'POST'] as const).filter((one) => find(one, path) !== undefined)
      const isAsset = Object.hasOwn(assets, path)
      if (isAsset && method === 'GET') return inTurn(req, res, () => sendAsset(req, res, assets[path]!))
      if (found !== undefined) return inTurn(req, res, () => begin(req, res, found))
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
