import { createHash } from 'node:crypto'
import * as v from 'valibot'
import { jsonOf } from '../integers.ts'

/** Kinds of response bodies besides JSON, which a schema describes. */
export const Html = { kind: 'html' } as const
/** "204: empty body" */
export const Empty = { kind: 'empty' } as const
/** "notFound: empty, 404"; some dialects send a body. */
export const NotFound = { kind: 'notFound' } as const

/** Lines of JSON, sent as they are produced. */
export const Ndjson = { kind: 'ndjson' } as const

/** Produces a response piece by piece. `write` resolves when the next piece may be written, and rejects after a disconnect. */
export type Produce = (write: (bytes: Uint8Array) => Promise<void>) => Promise<unknown>

/** "error: `message` string, `url` string" */
export const ErrorBody = v.object({ message: v.string(), url: v.string() })
export const Forbidden = ErrorBody
export const ValidationError = ErrorBody

export type ResponseKind = v.GenericSchema | typeof Html | typeof Ndjson | typeof Empty | typeof NotFound
export type Responses = Readonly<Record<number, ResponseKind>>

/** JSON that is serialized already. `T` is the type of its value. */
export class SerializedJson<T> {
  readonly bytes: Buffer
  declare readonly holds: T
  #tag: string | undefined
  constructor(value: T) {
    this.bytes = Buffer.from(jsonOf(value))
  }

  /** Entity tag; equal bytes have equal tags in every process. */
  get tag(): string {
    this.#tag ??= `"${createHash('sha1').update(this.bytes).digest('base64url')}"`
    return this.#tag
  }
}

/**
 * Memoizes the JSON of objects that are never modified, by identity. Keeps the last variant of each object.
 * @param make presents the object, for a variant such as the base URL of links
 * @param textOf identifies variants
 */
export const serializeOnce = <K extends object, T, V = string>(
  make: (source: K, variant: V) => T,
  textOf: (variant: V) => string = String,
): ((source: K, variant?: V) => SerializedJson<T>) => {
  const memo = new WeakMap<K, { text: string; json: SerializedJson<T> }>()
  return (source, variant = '' as V) => {
    const last = memo.get(source)
    const text = textOf(variant)
    if (last?.text === text) return last.json
    const json = new SerializedJson(make(source, variant))
    memo.set(source, { text, json })
    return json
  }
}

/** Serializes the body of a reply that may be sent several times. */
export const serializeReply = (reply: Reply): Reply =>
  reply.body === undefined || reply.body instanceof SerializedJson
    ? reply
    : { ...reply, body: new SerializedJson(reply.body) }

type BodyOf<K> = K extends v.GenericSchema
  ? v.InferOutput<K> | SerializedJson<v.InferOutput<K>>
  : K extends typeof Html
    ? string
    : K extends typeof Ndjson
      ? Produce
      : undefined

export interface Reply<S extends number = number, B = unknown> {
  readonly status: S
  readonly body: B
  /** Items of the whole list, in a reply with one page of it. */
  readonly total?: number
}

/** Every reply that a route's declared responses allow. */
export type ReplyOf<R extends Responses> = {
  [S in keyof R & number]: Reply<S, BodyOf<R[S]>>
}[keyof R & number]
