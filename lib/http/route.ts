import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import type * as v from 'valibot'
import type { Failure } from './error-response.ts'
import type { PageRequest, Paging } from './paging.ts'
import type { RequestUrl } from './request-url.ts'
import type { Reply, ReplyOf, Responses, SerializedJson } from './responses.ts'
import type { FileField, Upload } from './upload.ts'

/** Who sent a request. `all` among the scopes grants everything, and `write:x` implies `read:x`. */
export interface Identity {
  readonly username: string
  readonly admin: boolean
  readonly scopes: ReadonlySet<string>
}

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** `required`: 401 without credentials. `admin`: that, then 403 for whoever is no administrator. */
export type Auth = 'optional' | 'required' | 'admin'

type ObjectSchema = v.ObjectSchema<v.ObjectEntries, v.ErrorMessage<v.ObjectIssue> | undefined>

/** What a route says of itself: the router, the checks, the documents and the specs are all made from it. */
export interface RouteDeclaration {
  method: Method
  /** Relative to the base path; `{x}` marks a segment. */
  path: string
  operationId: string
  tag: string
  summary: string
  auth: Auth
  /** Every one of them is needed, where the request has credentials at all. */
  scope?: string | readonly string[]
  paging?: Paging
  /** JSON when absent; else the body is the text as it came. */
  accepts?:
    | 'text/plain'
    | 'application/x-ndjson'
    | 'application/x-www-form-urlencoded'
    | 'multipart/form-data'
  /** Bytes, where the server's own limit does not fit. */
  bodyLimit?: number
  /**
   * Of a GET: the answer follows from the request and the records alone, no clock and no disk, so that the one before may be
   * given again while the records that it was made of are what they were.
   */
  cacheable?: boolean
  /** The body of every failure, where it is not the usual one. */
  failure?: (message: string) => object
}

/** A declaration as the serving works with it. */
export interface Route<I extends Identity = Identity, S = unknown> extends RouteDeclaration {
  params?: ObjectSchema
  query?: ObjectSchema
  body?: v.GenericSchema | FileField
  responses: Responses
  /** Whether what the path names exists. It is checked before the body is read, so 404 precedes every 413, 415 and 422. */
  exists?: (params: unknown, services: S) => Promise<boolean>
  handle: (request: RouteRequest<I>, services: S) => Reply | Promise<Reply>
}

export interface RouteRequest<I extends Identity = Identity> {
  readonly user: I | null
  readonly params: unknown
  readonly query: unknown
  readonly body: unknown
  readonly page: PageRequest | undefined
  /** Whose budgets the request counts against (`lib/client-budget.ts`): the signed-in account, else the address. */
  readonly client: string
  /** Where the service is, without a slash at the end. */
  readonly baseUrl: string
  readonly apiUrl: string
}

/** Names of the parameters in a path template such as `/repos/{owner}/{repo}`. */
export type SegmentsOf<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | SegmentsOf<Rest>
  : never
type TextParams<Path extends string> = { readonly [Name in SegmentsOf<Path>]: string }

type Output<Schema, Otherwise> = Schema extends v.GenericSchema
  ? v.InferOutput<Schema>
  : Schema extends FileField
    ? Upload
    : Otherwise

export interface TypedRequest<I, Path extends string, A extends Auth, P, Q, B, G> {
  readonly user: A extends 'optional' ? I | null : I
  readonly params: Output<P, TextParams<Path>>
  readonly query: Output<Q, undefined>
  readonly body: Output<B, undefined>
  readonly page: G extends Paging ? PageRequest : undefined
  readonly client: string
  readonly baseUrl: string
  readonly apiUrl: string
}

type Declaration<I, S, Path extends string, A extends Auth, R extends Responses, P, Q, B, G> = Omit<
  RouteDeclaration,
  'path' | 'auth' | 'paging'
> & {
  path: Path
  auth: A
  paging?: G
  params?: P
  query?: Q
  body?: B
  responses: R
  exists?: (params: TextParams<Path>, services: S) => Promise<boolean>
  handle: (
    request: TypedRequest<I, Path, A, P, Q, B, G>,
    services: S,
  ) => ReplyOf<NoInfer<R>> | Promise<ReplyOf<NoInfer<R>>>
}

function reply<const N extends number>(status: N): Reply<N, undefined>
function reply<const N extends number, B>(status: N, body: B): Reply<N, B>
function reply(status: number, body?: unknown): Reply {
  return { status, body }
}

/** The words to declare routes with, for one kind of identity and one set of services. */
export const routesFor = <I extends Identity, S>() => ({
  /** A reply with an undeclared status, or a body that its schema does not describe, does not compile. */
  route: <
    const Path extends string,
    const A extends Auth,
    const R extends Responses,
    P extends ObjectSchema | undefined = undefined,
    Q extends ObjectSchema | undefined = undefined,
    B extends v.GenericSchema | FileField | undefined = undefined,
    G extends Paging | undefined = undefined,
  >(
    declaration: Declaration<I, S, Path, A, R, P, Q, B, G>,
  ): Route<I, S> => declaration as unknown as Route<I, S>,
  reply,
  /** A page of a list, and how many items there are in all. */
  pageOf: <B extends unknown[] | SerializedJson<unknown[]>>(items: B, total: number): Reply<200, B> => ({
    status: 200,
    body: items,
    total,
  }),
})

/** One request on its way through the steps. */
export interface RequestContext {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  readonly location: RequestUrl
  /** Where the service is as this client reaches it, without a slash at the end. */
  readonly baseUrl: string
}

/** An answer whose body is a stream, or text. */
export interface StreamReply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Readable | string
  /** Rejects when the body has ended before it was whole, so that nobody takes it for that. */
  readonly completed?: Promise<unknown>
}

export interface StreamRequest<I extends Identity = Identity, Name extends string = string> {
  readonly user: I | null
  readonly params: Readonly<Record<Name, string>>
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  /** Unpacked, where the client has packed it. */
  readonly body: Readable
  /** Bytes of the body, where the client says so. */
  readonly size: number | undefined
  /** Whose budgets the request counts against (`lib/client-budget.ts`): the signed-in account, else the address. */
  readonly client: string
  /** Aborted when the client goes away. */
  readonly signal: AbortSignal
  /** Where the service is, without a slash at the end. */
  readonly baseUrl: string
}

/**
 * What is served beside the API, at the root of the service, and is no JSON: bodies are streams both ways, so that their
 * size does not matter. Whoever handles one says itself who may.
 */
export interface StreamRoute<I extends Identity = Identity, S = unknown> {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE'
  /** Relative to the root of the service; `{x}` marks a segment. */
  readonly path: string
  /** The content type that the request must have. */
  readonly accepts?: string
  /** Bytes of the unpacked body; absent: any number. */
  readonly bodyLimit?: number
  /** What a failure is told as, where it is not one line of text. */
  readonly refusal?: (failure: Failure) => { headers: Readonly<Record<string, string>>; body: string }
  handle(request: StreamRequest<I>, services: S): Promise<StreamReply>
}

/** The word to declare such routes with, for one kind of identity and one set of services. */
export const streamsFor =
  <I extends Identity, S>() =>
  <const Path extends string>(
    route: Omit<StreamRoute<I, S>, 'path' | 'handle'> & {
      path: Path
      handle: (request: StreamRequest<I, SegmentsOf<Path>>, services: S) => Promise<StreamReply>
    },
  ): StreamRoute<I, S> =>
    route as unknown as StreamRoute<I, S>
