import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import findMyWay from 'find-my-way'
import { AllotError } from '../errors.ts'
import { decompressedBody } from './body.ts'
import { trackInFlight } from './connection/in-flight.ts'
import { inPipelineOrder } from './connection/pipelining.ts'
import { smugglingFault } from './connection/smuggling-guard.ts'
import { allowOrigin } from './cors.ts'
import { failedRequest, type Log, toFailure } from './error-response.ts'
import { type FindMoved, movedPath, movedStatus } from './redirect.ts'
import { baseUrlOf, mountOf, originForm } from './request-url.ts'
import type { Identity, StreamReply, StreamRoute } from './route.ts'
import { sendEmpty, sendText, sendWithHeaders } from './send.ts'

export interface StreamDispatcherOptions<I extends Identity, S> {
  routes: readonly StreamRoute<I, S>[]
  services: S
  authenticate: (req: IncomingMessage) => I | null | Promise<I | null>
  /** The client whose budgets the request counts against. */
  clientOf: (req: IncomingMessage, user: I | null) => string
  /** Where repositories that have moved are now. */
  moved?: FindMoved<I> | undefined
  baseUrl: string | undefined
  corsOrigins: readonly string[]
  log: Log
}

export interface StreamDispatcher {
  /** Answers what it knows; false for any other path. */
  handle(req: IncomingMessage, res: ServerResponse): boolean
  /** Resolves when nothing is in flight. */
  idle(): Promise<void>
}

interface Match<I extends Identity, S> {
  readonly route: StreamRoute<I, S>
  readonly params: Record<string, string>
  readonly search: string
}

export const createStreamDispatcher = <I extends Identity, S>(
  options: StreamDispatcherOptions<I, S>,
): StreamDispatcher => {
  const { routes, services, corsOrigins, log } = options
  const router = findMyWay({ maxParamLength: 255, onBadUrl: () => undefined })
  for (const route of routes)
    router.on(route.method, route.path.replace(/\{(\w+)\}/g, ':$1'), () => undefined, route)
  const methods = [...new Set(routes.map(({ method }) => method))]
  const flights = trackInFlight()

  const find = (method: (typeof methods)[number], url: string): Match<I, S> | undefined => {
    const [path, search = ''] = url.split('?', 2) as [string, string?]
    const found = router.find(method, path)
    const route = found?.store as StreamRoute<I, S> | null | undefined
    return found && route ? { route, params: found.params as Record<string, string>, search } : undefined
  }

  const serve = async (req: IncomingMessage, res: ServerResponse, { route, params, search }: Match<I, S>) => {
    const gone = new AbortController()
    res.once('close', () => gone.abort())
    const baseUrl = options.baseUrl ?? baseUrlOf(req, mountOf(req, req.url!))
    const user = await options.authenticate(req)
    const { body, size } = decompressedBody(req, route)
    const query = new URLSearchParams(search)
    const client = options.clientOf(req, user)
    const asked = { params, query, headers: req.headers, body, size, baseUrl }
    const request = { ...asked, user, client, signal: gone.signal }
    const broken = new Promise<never>((_resolve, reject) => body.once('error', reject))
    broken.catch(() => undefined)
    const handled = route.handle(request, services)
    handled.catch(() => undefined)
    const reply = await Promise.race([handled, broken]).catch(async (error) => {
      const to = isNotFound(error) ? await newUrl(req, user, route.path, baseUrl) : undefined
      if (to === undefined) throw error
      return { status: movedStatus(req.method), headers: { Location: to }, body: '' }
    })
    if (req.method === 'HEAD') sendHead(res, reply)
    else await deliver(res, reply, broken)
  }

  /** The new URL of a request whose repository has moved. */
  const newUrl = async (
    req: IncomingMessage,
    user: I | null,
    template: string,
    baseUrl: string,
  ): Promise<string | undefined> => {
    if (options.moved === undefined) return undefined
    const [path, search] = originForm(req.url ?? '/').split('?', 2) as [string, string?]
    const to = await movedPath(options.moved, user, template, path)
    return to && baseUrl + to + (search === undefined ? '' : `?${search}`)
  }

  const refuse = (
    req: IncomingMessage,
    res: ServerResponse,
    error: unknown,
    route?: StreamRoute<I, S>,
  ): void => {
    if (res.headersSent || res.destroyed) return void res.destroy()
    try {
      const failed = failedRequest(req, res, (req.url ?? '').split('?', 1)[0]!)
      const failure = toFailure(error, log, failed)
      const { status, message, retryAfter } = failure
      // The rest of a refused body is not waited for.
      if (!req.complete) res.shouldKeepAlive = false
      const extra = extraHeaders(status, retryAfter)
      const refusal = route?.refusal?.(failure)
      if (refusal === undefined) return sendText(res, status, `${message}\n`, extra)
      sendWithHeaders(res, status, refusal.body, [...Object.entries(refusal.headers).flat(), ...extra])
    } catch {
      res.destroy()
    }
  }

  const begin = (req: IncomingMessage, res: ServerResponse, url: string, allowed: string[]): void => {
    flights.begin(res)
    if (corsOrigins.length > 0 && allowOrigin(req, res, corsOrigins)) return
    const fault = smugglingFault(req)
    if (fault !== undefined) {
      res.shouldKeepAlive = false
      return void setImmediate(() => refuse(req, res, fault))
    }
    const match = allowed.includes(req.method ?? '') ? find(req.method as never, url) : undefined
    if (match !== undefined) serve(req, res, match).catch((error) => refuse(req, res, error, match.route))
    else sendEmpty(res, req.method === 'OPTIONS' ? 204 : 405, ['Allow', [...allowed, 'OPTIONS'].join(', ')])
  }

  return {
    handle(req, res) {
      const url = originForm(req.url ?? '/')
      const allowed = methods.filter((method) => find(method, url) !== undefined)
      if (allowed.length === 0) return false
      inPipelineOrder(req, res, () => begin(req, res, url, allowed))
      return true
    },
    idle: flights.idle,
  }
}

/** What a GET is answered, without the body. */
const sendHead = (res: ServerResponse, { status, headers, body }: StreamReply): void => {
  if (typeof body !== 'string') body.destroy()
  res.writeHead(status, Object.entries(headers).flat()).end()
}

/** The status is said with the first byte: until then what fails can still be told. */
const deliver = async (
  res: ServerResponse,
  { status, headers, body, completed }: StreamReply,
  broken: Promise<never>,
): Promise<void> => {
  completed?.catch(() => undefined)
  if (typeof body === 'string') return sendWithHeaders(res, status, body, Object.entries(headers).flat())
  await Promise.race([firstByte(body), broken]).catch((error) => {
    body.destroy()
    throw error
  })
  res.writeHead(status, Object.entries(headers).flat())
  await pipeline(body, res, { end: false })
  await completed
  res.end()
}

/** Resolves when there is one, or never will be. */
const firstByte = async (body: Readable): Promise<void> => {
  if (body.readableLength > 0 || body.readableEnded) return
  await new Promise<void>((resolve, reject) => {
    body.once('readable', resolve)
    body.once('error', reject)
  })
}

const isNotFound = (error: unknown): boolean => error instanceof AllotError && error.code === 'not_found'

/** git asks people for a name and a password only when it is told so. */
const extraHeaders = (status: number, retryAfter = status === 503 ? 1 : undefined): string[] => [
  ...(status === 401 ? ['WWW-Authenticate', 'Basic realm="Allot", charset="UTF-8"'] : []),
  ...(retryAfter === undefined ? [] : ['Retry-After', String(retryAfter)]),
]
