import type * as v from 'valibot'
import type { PageRequest, Paging } from './paging.ts'
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

type SegmentsOf<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
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
