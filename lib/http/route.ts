import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import type * as v from 'valibot'
import type { MadeOf, ReadTransaction } from '../storage/index.ts'
import type { AccessRule, Auth, Caller } from './access.ts'
import type { RequestContext } from './dispatcher.ts'
import type { Failure } from './failure.ts'
import type { LastingRights } from './lasting.ts'
import type { Pagination, Paging } from './paging.ts'
import type { Reply, Responses, StreamReply } from './responses.ts'

/**
 * Route declarations of the API: JSON routes below the base path, and stream routes at the root of the
 * service. The router, the checks, the OpenAPI document and the specs are all made from them. Routes of pages
 * are in `lib/web/parts/route.ts`.
 */

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** Names of the parameters in a path template such as `/repos/{owner}/{repo}`. */
export type SegmentsOf<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | SegmentsOf<Rest>
  : never

/** Declares a `multipart/form-data` body with one file. */
export interface FileField {
  readonly kind: 'file'
  /** Name of the form field that holds the file. */
  readonly field: string
}

export const fileField = (field: string): FileField => ({ kind: 'file', field })

export const isFileField = (body: unknown): body is FileField =>
  (body as FileField | undefined)?.kind === 'file'

/**
 * A form with a file as a handler gets it. Invariant: nothing of the body is read before `file` is called.
 */
export interface Upload {
  /** Bytes of the whole body; undefined when the client does not declare them. */
  readonly size: number | undefined
  /**
   * Starts to read the body; call it once.
   * @throws AllotError invalid when the form has no such file
   */
  file(): Promise<UploadedFile>
}

export interface UploadedFile {
  /** File name from the client, without folders; empty when absent. */
  readonly name: string
  /**
   * Bytes of the file. The stream ends only when the whole body has arrived, is well formed and has no second
   * file; otherwise it fails, so that an incomplete file is never stored.
   */
  readonly content: Readable
}

export type ObjectSchema = v.ObjectSchema<v.ObjectEntries, v.ErrorMessage<v.ObjectIssue> | undefined>

/** The declaration of a JSON route without its schemas and its handler. */
export interface RouteDeclaration extends AccessRule {
  method: Method
  /** Relative to the base path; `{x}` marks a segment. */
  path: string
  operationId: string
  tag: string
  summary: string
  auth: Auth
  paging?: Paging
  /** Whether the last parameter of the path takes the rest of the URL's path, with its slashes. */
  takesRest?: boolean
  /** Content type of the body; JSON when absent. The handler gets any other body as text. */
  accepts?:
    | 'text/plain'
    | 'application/x-ndjson'
    | 'application/x-www-form-urlencoded'
    | 'multipart/form-data'
  /**
   * Bytes of a body that is read into memory, the server's `bodyLimit` when absent; the handler limits a form
   * with a file.
   */
  bodyLimit?: number
  /** Whether a JSON body must be sent; an absent one counts as `{}` otherwise. */
  needsBody?: boolean
  /** Members of every error body of this route, in addition to `message` and `url`. */
  failure?: (message: string) => object
}

/** A JSON route as the dispatcher uses it. */
export interface Route<I extends Caller = Caller, S = unknown> extends RouteDeclaration {
  params?: ObjectSchema
  query?: ObjectSchema
  body?: v.GenericSchema | FileField
  responses: Responses
  /** What a listener in the dialect of Forgejo declares, too. */
  forgejoResponses?: Responses
  /**
   * Whether the resource in the path exists. Checked before the body is read, so that 404 precedes 413, 415
   * and 422; only for resources that everyone who may call the route can see.
   */
  exists?: (params: unknown, services: S) => Promise<boolean>
  /** Whether its path may have a former name: then it answers 301 or 308 instead of 404. */
  mayHaveMoved: boolean
  handle: (request: RouteRequest<I, S>, services: S) => Promise<Reply>
}

/** Builds the URLs of web pages. Every request carries it, so that presenters need nothing else. */
export type HtmlUrlsOf<S> = S extends { readonly htmlUrls: infer H } ? H : undefined

/** What every request has. */
interface AnyRequest<I extends Caller> extends Pick<RequestContext<I>, 'client' | 'baseUrl'> {
  readonly user: I | null
  /** Parses a large body, or makes a large reply, in the turn of the client: see `BodyTurns`. */
  readonly inTurn: <T>(bytes: number, make: () => T | Promise<T>) => Promise<T>
  /** For replies that are streams. */
  readonly whileAllowed: LastingRights<I>['whileAllowed']
}

export interface RouteRequest<I extends Caller = Caller, S = unknown> extends AnyRequest<I> {
  readonly params: unknown
  readonly query: unknown
  readonly body: unknown
  readonly page: Pagination | undefined
  /** URL of the API, without a slash at the end. */
  readonly apiUrl: string
  readonly htmlUrls: HtmlUrlsOf<S>
  /**
   * Replies with what `read` returns, and to the same request of the same user again, without a call of the
   * handler, until something changes that `read` has read. It may run again, and must depend on nothing but
   * its transaction, the user, the URL and the options: not on the clock, the disk, or earlier reads.
   */
  readonly cached: <T extends Reply>(read: (tx: ReadTransaction) => Promise<T>) => Promise<T>
  /**
   * Has the reply kept as `cached` does, until a result ends that the store keeps. The reply must depend on
   * nothing else that changes but the user, the URL and the options.
   */
  readonly keptWith: (madeOf: MadeOf) => void
}

export type Output<Schema, Otherwise> = Schema extends v.GenericSchema
  ? v.InferOutput<Schema>
  : Schema extends FileField
    ? Upload
    : Otherwise

export interface StreamRequest<I extends Caller = Caller, Name extends string = string>
  extends AnyRequest<I> {
  readonly params: Readonly<Record<Name, string>>
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  /** Decompressed. */
  readonly body: Readable
  /** Bytes of the body, when the client declares them. */
  readonly size: number | undefined
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal
}

/**
 * A route at the root of the service whose bodies are streams in both directions, so that they may have any
 * size. Its handler authorizes the request itself.
 */
export interface StreamRoute<I extends Caller = Caller, S = unknown> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Relative to the root of the service; `{x}` marks a segment. */
  readonly path: string
  /** Whether the last parameter takes the rest of the path, with its slashes. */
  readonly takesRest?: boolean
  /** Expression that the last parameter, at the end of the path, matches; any text when absent. */
  readonly matching?: string
  /** `optional` when absent. */
  readonly auth?: 'none'
  /** Content type that the request must have. */
  readonly accepts?: string
  /** Bytes of the decompressed body; unlimited when absent. */
  readonly bodyLimit?: number
  /**
   * Headers and body of error responses; one line of text when absent. A 401 has a challenge, such as
   * `Basic realm="Allot"`.
   */
  readonly refusal?: (
    failure: Failure,
    challenge?: string,
  ) => { headers: Readonly<Record<string, string>>; body: string }
  handle(request: StreamRequest<I>, services: S): Promise<StreamReply>
}

/** Function that declares stream routes for one type of identity and one set of services. */
export const streamsFor =
  <I extends Caller, S>() =>
  <const Path extends string>(
    route: Omit<StreamRoute<I, S>, 'path' | 'handle'> & {
      path: Path
      handle: (request: StreamRequest<I, SegmentsOf<Path>>, services: S) => Promise<StreamReply>
    },
  ): StreamRoute<I, S> =>
    route as unknown as StreamRoute<I, S>
