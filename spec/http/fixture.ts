import type { IncomingMessage, RequestListener } from 'node:http'
import { connect } from 'node:net'
import type * as v from 'valibot'
import { AllotError } from '../../lib/errors.ts'
import {
  type Caller,
  Dispatcher,
  JsonEndpoints,
  type Next,
  type Pagination,
  type Reply,
  type ReplyServices,
  type Route,
  type RouteRequest,
  referenceOrNext,
} from '../../lib/http/index.ts'
import type { FileField, ObjectSchema, Output } from '../../lib/http/route.ts'
import { listen } from '../support/listen.ts'

/** The handlers of these specs need no further services. */
export type Nothing = ReplyServices

type Schemas = 'params' | 'query' | 'body'

/** A request, by the schemas of its route; each route knows whether it has a sender and a page. */
interface Given<P, Q, B> extends Omit<RouteRequest<Caller, Nothing>, Schemas | 'user' | 'page'> {
  readonly user: Caller
  readonly page: Pagination
  readonly params: Output<P, Readonly<Record<string, string>>>
  readonly query: Output<Q, undefined>
  readonly body: Output<B, undefined>
}

type Declared<P, Q, B> = Omit<Route<Caller, Nothing>, Schemas | 'mayHaveMoved' | 'handle'> & {
  params?: P
  query?: Q
  body?: B
  handle: (request: Given<P, Q, B>) => Promise<Reply>
}

export const route = <
  P extends ObjectSchema | undefined = undefined,
  Q extends ObjectSchema | undefined = undefined,
  B extends v.GenericSchema | FileField | undefined = undefined,
>(
  declared: Declared<P, Q, B>,
) => ({ ...declared, mayHaveMoved: false }) as unknown as Route<Caller, Nothing>

export const reply = (status: number, body?: unknown): Reply => ({ status, body })
export const pageOf = (items: unknown, total: number | undefined): Reply => ({
  status: 200,
  body: items,
  total,
})

/** Members that every declaration needs, and that the specs here do not check. */
export const plain = { tag: 'spec', summary: 'of a spec' } as const

export interface Told {
  readonly fields: { err?: Error; requestId?: string; method?: string; path?: string }
  readonly message: string
}

export interface HttpFixture {
  readonly port: number
  /** Up to the base path and with it. */
  readonly api: string
  /** Errors in the log. */
  readonly told: Told[]
  idle(): Promise<void>
  /** Bytes over a connection of their own, and all that comes back until it ends. */
  raw(bytes: string | Buffer): Promise<string>
  stop(): Promise<void>
}

/** Credentials of these specs: `NAME` or `NAME scope,scope`; `root` administers, and `bad` is refused. */
export const senderOf = async ({ headers: { authorization } }: IncomingMessage): Promise<Caller | null> => {
  if (authorization === undefined) return null
  const [username = '', scopes = 'all'] = authorization.split(' ')
  if (username === 'bad') throw new AllotError('unauthenticated', 'the credentials are wrong')
  return { username, admin: username === 'root', scopes: new Set(scopes.split(',')) }
}

type Handler = (...context: [...Parameters<RequestListener>, next?: Next]) => void
type Options = Partial<
  ConstructorParameters<typeof JsonEndpoints<Caller, Nothing>>[0] &
    ConstructorParameters<typeof Dispatcher<Caller>>[0] &
    Pick<ReplyServices, 'store'>
>

const NO_CACHE = {
  known: () => undefined,
  read: () => Promise.reject(new Error('the store of this spec has no records')),
  load: () => Promise.reject(new Error('the store of this spec has no records')),
  keep: () => undefined,
}

/** The routes of a spec in a started server, spoken to over a socket. */
export const serve = async (
  routes: readonly Route<Caller, Nothing>[],
  { store = NO_CACHE, ...options }: Options = {},
  mount: (handler: Handler) => RequestListener = (handler) => (req, res) => handler(req, res),
): Promise<HttpFixture> => {
  const told: Told[] = []
  const clientOf = (_req: IncomingMessage, user: Caller | null) => user?.username ?? 'address'
  const json = new JsonEndpoints<Caller, Nothing>({
    routes,
    services: { store, htmlUrls: { pagesPath: '' } },
    basePath: '/api/v1',
    signInMessage: 'token is required',
    notFoundMessage: undefined,
    bodyLimit: 1024,
    pageLimits: { default: 30, max: 50 },
    ...options,
  })
  const dispatcher = new Dispatcher<Caller>({
    endpoints: [json],
    authenticate: senderOf,
    userNow: async (user) => user,
    clientOf,
    baseUrl: undefined,
    trustedProxies: 0,
    unmatched: referenceOrNext({ basePath: '/api/v1', brand: 'Test', prepare: async () => undefined }),
    log: { error: (fields, message) => told.push({ fields, message }), info: () => undefined },
    ...options,
  })
  const { port, origin, stop } = await listen(mount(dispatcher.handler))
  return {
    port,
    api: `${origin}/api/v1`,
    told,
    idle: () => dispatcher.idle(),
    raw: (bytes) => raw(port, bytes),
    stop,
  }
}

const raw = (port: number, bytes: string | Buffer): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    let text = ''
    socket.setTimeout(60_000, () => socket.destroy(new Error(`left hanging after: ${text}`)))
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
    })
    socket.on('close', () => resolve(text))
    socket.on('error', reject)
    socket.write(bytes)
  })

/** A request whose connection ends with its answer. */
export const closing = (line: string, ...headers: string[]): string =>
  [`${line} HTTP/1.1`, 'Host: x.test', 'Connection: close', ...headers, '', ''].join('\r\n')
