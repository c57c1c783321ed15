import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import type { Failure } from './errors.ts'
import type { Identity } from './route.ts'

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

type SegmentsOf<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | SegmentsOf<Rest>
  : never

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
