import { createHash } from 'node:crypto'
import * as v from 'valibot'
import { jsonOf } from '../integers.ts'

/** What a response can hold besides JSON that a schema describes. */
export const Html = { kind: 'html' } as const
/** "204: empty body" */
export const Empty = { kind: 'empty' } as const
/** "notFound: empty, 404"; a dialect may want a body. */
export const NotFound = { kind: 'notFound' } as const

/** Lines of JSON, sent as they are made. */
export const Ndjson = { kind: 'ndjson' } as const

/** Makes an answer piece by piece. `write` resolves when more may come, and rejects when the client is gone. */
export type Produce = (write: (bytes: Uint8Array) => Promise<void>) => Promise<unknown>

/** "error: `message` string, `url` string" */
export const ErrorBody = v.object({ message: v.string(), url: v.string() })
export const Forbidden = ErrorBody
export const ValidationError = ErrorBody

export type ResponseKind = v.GenericSchema | typeof Html | typeof Ndjson | typeof Empty | typeof NotFound
export type Responses = Readonly<Record<number, ResponseKind>>

/** JSON that is serialised already; the type says what it holds. */
export class SerializedJson<T> {
  readonly bytes: Buffer
  declare readonly holds: T
  #tag: string | undefined
  constructor(value: T) {
    this.bytes = Buffer.from(jsonOf(value))
  }

  /** The entity tag of the content: the same for the same bytes, on every process. */
  get tag(): string {
    this.#tag ??= `"${createHash('sha1').update(this.bytes).digest('base64url')}"`
    return this.#tag
  }
}

/**
 * Serialises what is made of a thing once, and again only for another `variant` of it (the URL that links begin with, say):
 * for things that stay the same objects while they are what they are.
 * @param textOf tells variants apart
 */
export const serializeOnce = <K extends object, T, V = string>(
  make: (thing: K, variant: V) => T,
  textOf: (variant: V) => string = String,
): ((thing: K, variant?: V) => SerializedJson<T>) => {
  const kept = new WeakMap<K, { text: string; ready: SerializedJson<T> }>()
  return (thing, variant = '' as V) => {
    const known = kept.get(thing)
    const text = textOf(variant)
    if (known?.text === text) return known.ready
    const ready = new SerializedJson(make(thing, variant))
    kept.set(thing, { text, ready })
    return ready
  }
}

/** What may be sent several times is serialised once. */
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
  /** Of a paged list: how many there are in all. */
  readonly total?: number
}

/** Every reply that a route's declared responses allow. */
export type ReplyOf<R extends Responses> = {
  [S in keyof R & number]: Reply<S, BodyOf<R[S]>>
}[keyof R & number]
