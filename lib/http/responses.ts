import { hash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import * as v from 'valibot'
import type { LoadOptions, MadeOf, ReadTransaction } from '../storage/index.ts'

/** Kinds of response bodies besides JSON, which a schema describes; `example` is for the OpenAPI document. */
export const Html = { kind: 'html', example: '<p>It <strong>works</strong>.</p>\n' } as const
/** A 204: no body. */
export const Empty = { kind: 'empty' } as const
/** A 404 has no body, except with the option `dialect` (`lib/listeners.ts`). */
export const NotFound = { kind: 'notFound' } as const

/** Lines of JSON, sent as they are produced. */
export const Ndjson = {
  kind: 'ndjson',
  example:
    '{"format":"allot-export","version":1,"layout":1,"time":"2026-11-21T04:09:00Z"}\n{"sequence":"account","next":8}\n',
} as const

/** The bytes of a file or of a command's output, with their own headers. */
export const Download = { kind: 'download', example: 'the content of the file' } as const

/** Opens a download, once the response may begin: a read that runs again opens nothing twice. */
export type OpenDownload = (request: {
  readonly headers: IncomingHttpHeaders
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal
}) => Promise<StreamReply>

/**
 * Produces a response piece by piece. `write` resolves when the next piece may be written, and rejects after
 * a disconnect.
 */
export type Produce = (write: (bytes: Uint8Array) => Promise<void>) => Promise<unknown>

/** A number of a response that may have a fraction. The OpenAPI document has all others as integers. */
export const fraction = v.number()

/** The body of every error response but those of searches. */
export const ErrorBody = v.object({ message: v.string(), url: v.string() })

/** JSON, and no body at all: a status without one may have the JSON of an error. */
export type JsonKind = v.GenericSchema | typeof Empty | typeof NotFound
export type ResponseKind = JsonKind | typeof Html | typeof Ndjson | typeof Download
export type Responses = Readonly<Record<number, ResponseKind>>

/** JSON that is already serialized. `T` is the type of its value. */
export class SerializedJson<T> {
  readonly text: string
  declare readonly holds: T
  #tag: string | undefined
  #size: number | undefined
  constructor(value: T) {
    this.text = JSON.stringify(value)
  }

  static of(value: unknown): SerializedJson<unknown> {
    return value instanceof SerializedJson ? value : new SerializedJson(value)
  }

  /** The JSON of a large value, ready to be sent. Other requests are served between the steps. */
  static async ready<T>(make: () => T): Promise<SerializedJson<T>> {
    const value = make()
    await setImmediate()
    const json = new SerializedJson(value)
    await setImmediate()
    json.#size = Buffer.byteLength(json.text)
    json.#tag = tagOf(json.text)
    await setImmediate()
    return json
  }

  /** Bytes of the text in UTF-8. */
  get size(): number {
    this.#size ??= Buffer.byteLength(this.text)
    return this.#size
  }

  /** Entity tag; equal texts have equal tags in every process. */
  get tag(): string {
    this.#tag ??= tagOf(this.text)
    return this.#tag
  }
}

const tagOf = (text: string): string => `"${hash('sha1', text, 'base64url')}"`

export type BodyOf<K> = K extends v.GenericSchema
  ? v.InferOutput<K> | SerializedJson<v.InferOutput<K>>
  : K extends typeof Html
    ? string
    : K extends typeof Ndjson
      ? Produce
      : K extends typeof Download
        ? OpenDownload
        : undefined

export interface Reply<S extends number = number, B = unknown> {
  readonly status: S
  readonly body: B
  /**
   * Number of items in the whole list, in a reply with one page of it; undefined while they are not counted.
   */
  readonly total?: number | undefined
}

/** Keeps replies until something changes that they were read from. */
export interface ReplyStore {
  /** Reads, and keeps nothing. Reads of one name mostly read the same. */
  read<T>(read: (tx: ReadTransaction) => Promise<T>, name: string): Promise<T>
  /** The reply that is kept under the key. */
  known<T>(key: string): T | undefined
  /** Reads, and keeps the result unless it is undefined. */
  load<T>(key: string, read: (tx: ReadTransaction) => Promise<T>, options: LoadOptions<T>): Promise<T>
  /** Keeps what was made of other results that are kept, until one of them ends. */
  keep(key: string, value: unknown, size: number, madeOf: readonly MadeOf[]): void
}

/** A sender whom the store keeps, and whom nothing but the Authorization header and records names. */
export interface KeptSender<I> {
  /** Where the store keeps the sender; absent without credentials. */
  readonly madeOf?: MadeOf
  readonly user: I | null
  /** Notes that the credentials are used. */
  use?(): void
}

/** A reply to each request that is like another one, whose sender is theirs, too. */
export interface KeptReply<I> {
  readonly sender: KeptSender<I>
  /** Declared path of the route. */
  readonly path: string
  readonly reply: Sendable
}

/** A response as it is sent. */
export interface Sendable {
  readonly status: number
  /** By name, or names and values in turn, which is faster. */
  readonly headers?: Readonly<Record<string, string>> | readonly string[] | undefined
  /** Nothing when absent. Serialized JSON gets its content type and, when a GET has found it, an `ETag`. */
  readonly body?: string | Buffer | SerializedJson<unknown> | OpenBody | undefined
  /** Produces the body in the place of `body`. */
  readonly lines?: Produce
  /** Rejects when the body of the request breaks off. */
  readonly brokenBody?: Promise<never>
}

/** A response whose headers are by name, so that others can be below them. */
export interface StreamReply extends Sendable {
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Opens the body of a reply. Not called for HEAD: no file is opened and no process is started for a response
 * without a body.
 */
export type OpenBody = () => Promise<StreamBody>

export interface StreamBody {
  readonly stream: Readable
  /**
   * Rejects when the stream ended before it was complete; then the connection is cut, so that the client
   * notices. Its rejection is handled where it is made, too, since the reply to a client that has left does
   * not await it.
   */
  readonly completed?: Promise<unknown>
}

/** A file to send. Invariant: two files with the same tag have the same content. */
interface FileContent {
  /** Bytes */
  readonly size: number
  /** Entity tag of the content, without quotes. */
  readonly tag: string
  /** Content type; `application/octet-stream` when absent. */
  readonly type?: string | undefined
  /** File name that browsers suggest when saving. */
  readonly name?: string
  /** @param range first and last byte, both inclusive; the whole file when absent */
  read(range?: { start: number; end: number }): Promise<Readable>
}

/**
 * Replies with a file: 200, 206 with the requested range, 416, or 304 when the client already has the
 * content. The headers keep browsers from rendering it as a page of this origin.
 */
export const fileReply = (headers: IncomingHttpHeaders, file: FileContent): StreamReply => {
  const { size } = file
  const tag = `"${file.tag}"`
  const headersOfFile = { ...COMMON_HEADERS, ETag: tag, ...contentHeaders(file) }
  if (matchesETag(headers['if-none-match'], tag)) return { status: 304, headers: headersOfFile, body: '' }
  const range = headers['if-range'] === undefined || headers['if-range'] === tag ? headers.range : undefined
  const requested = parseRange(range, size)
  if (requested === undefined)
    return {
      status: 200,
      headers: { ...headersOfFile, ...NO_SNIFF, 'Content-Length': String(size) },
      body: bodyOf(file),
    }
  if (requested === 'unsatisfiable')
    return { status: 416, headers: { ...headersOfFile, 'Content-Range': `bytes */${size}` }, body: '' }
  const { start, end } = requested
  const rangeHeaders = {
    'Content-Range': `bytes ${start}-${end}/${size}`,
    'Content-Length': String(end - start + 1),
    ...NO_SNIFF,
  }
  return { status: 206, headers: { ...headersOfFile, ...rangeHeaders }, body: bodyOf(file, requested) }
}

const bodyOf =
  (file: FileContent, range?: { start: number; end: number }): OpenBody =>
  async () => ({ stream: await file.read(range) })

/** What users have uploaded runs nothing when a browser shows it. */
export const SANDBOX = { 'Content-Security-Policy': "default-src 'none'; sandbox" }

const COMMON_HEADERS = {
  'Accept-Ranges': 'bytes',
  'Cache-Control': 'private, no-cache',
  ...SANDBOX,
}

const NO_SNIFF = { 'X-Content-Type-Options': 'nosniff' }

const contentHeaders = ({ type, name }: FileContent): Record<string, string> => ({
  'Content-Type': type ?? 'application/octet-stream',
  'Content-Disposition': dispositionOf({ fileName: name }),
})

/**
 * RFC 6266. Browsers read `filename*`; curl reads `filename`, and saves its bytes as they are. curl neither
 * reads escapes, nor keeps what is before a slash or a backslash.
 */
export const dispositionOf = ({ fileName: name }: { readonly fileName: string | undefined }): string =>
  name === undefined
    ? 'attachment'
    : `attachment; filename="${latin1Name(name)}"; filename*=UTF-8''${encodeName(name)}`

/** The bytes of UTF-8, each as a character of the header. */
const latin1Name = (name: string): string =>
  Buffer.from(name.replace(/["/\\\p{Cc}]/gu, '_')).toString('latin1')

/** RFC 8187 §3.2.1 allows fewer characters than `encodeURIComponent` keeps. */
const encodeName = (name: string): string =>
  encodeURIComponent(name).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )

/** RFC 9110 §14.2: a header that is malformed, or names several ranges, is ignored. */
const parseRange = (
  range: string | undefined,
  size: number,
): { start: number; end: number } | 'unsatisfiable' | undefined => {
  const [, first, last] = /^bytes=(\d*)-(\d*)$/.exec(range?.trim() ?? '') ?? []
  if (first === undefined || last === undefined || first + last === '') return undefined
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first)
  const end = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1)
  if (first !== '' && last !== '' && Number(last) < start) return undefined
  return start > end ? 'unsatisfiable' : { start, end }
}

/** Compares an If-None-Match header weakly (RFC 9110 §13.1.2), since a proxy may have added `W/`. */
export const matchesETag = (header: string | undefined, tag: string): boolean =>
  header !== undefined &&
  (header.trim() === '*' || header.split(',').some((item) => item.trim().replace(/^W\//, '') === tag))
