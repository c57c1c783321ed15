import type { IncomingMessage } from 'node:http'
import { type Readable, Transform, type TransformCallback } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { AllotError, invalid } from '../errors.ts'
import { ClientDisconnected } from './failure.ts'
import { parseJson, withoutNulls } from './json.ts'
import type { Route, StreamRoute } from './route.ts'
import { isFileField, readUpload } from './upload.ts'
import { validate } from './validate.ts'

/** Request bodies: read whole for JSON routes and forms, as streams for stream routes. */

type DeclaredBody = Pick<Route, 'accepts' | 'bodyLimit' | 'body'>

/**
 * Reads and validates the body of a request as its route declares it.
 * @param limit bytes, for a route without a `bodyLimit`
 * @throws AllotError unsupported_media_type, too_large, invalid
 */
export const readBody = async (
  req: IncomingMessage,
  route: DeclaredBody,
  limit: number,
): Promise<unknown> => {
  checkContentType(req, route)
  const { body } = route
  if (isFileField(body)) return readUpload(req, body)
  const content = req.readableEnded ? parsedByHost(req) : await readBytes(req, route.bodyLimit ?? limit)
  const text = content instanceof Uint8Array ? decodeUtf8(content) : content
  return validate(body!, route.accepts === undefined ? parseObject(text) : text)
}

/** A request without a Content-Type is accepted, except where a form with a file is expected, which needs its boundary. */
const checkContentType = (req: IncomingMessage, { accepts }: DeclaredBody): void => {
  if (req.headers['content-type'] === undefined && accepts !== FORM) return
  const type = mediaTypeOf(req)
  const isAccepted = accepts === undefined ? JSON_TYPE.test(type) : type === accepts
  if (!isAccepted)
    throw new AllotError(
      'unsupported_media_type',
      `the content type must be ${accepts ?? 'application/json'}, got ${type || 'none'}`,
    )
}

const FORM: Route['accepts'] = 'multipart/form-data'

const JSON_TYPE = /^(?:application|text)\/(?:[\w.-]+\+)?json$/

/** The content type without its parameters; empty when absent. */
const mediaTypeOf = ({ headers }: IncomingMessage): string =>
  (headers['content-type'] ?? '').split(';', 1)[0]!.trim().toLowerCase()

/** The result of a body parser of the host, such as `express.json()`, which has already read the body. */
const parsedByHost = (req: IncomingMessage): unknown => (req as { body?: unknown }).body ?? ''

const readBytes = (req: IncomingMessage, limit: number): Promise<Buffer> => {
  if (Number(req.headers['content-length'] ?? 0) > limit) return Promise.reject(tooLarge(limit))
  if (req.destroyed) return Promise.reject(disconnected())
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    req.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= limit) chunks.push(chunk)
      else reject(tooLarge(limit))
    })
    req.on('end', () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)))
    req.on('close', () => req.readableEnded || reject(disconnected()))
    req.on('error', () => reject(disconnected()))
  })
}

const disconnected = () => new ClientDisconnected('the request ended before its body was complete')

const tooLarge = (limit: number) =>
  new AllotError('too_large', `the body must not be larger than ${limit} bytes`)

const utf8 = new TextDecoder('utf-8', { fatal: true })

const decodeUtf8 = (bytes: Uint8Array): string => {
  try {
    return utf8.decode(bytes)
  } catch {
    throw invalid('the body is not valid UTF-8')
  }
}

/** An empty body counts as `{}`. @param body text, or a value that the host has parsed */
const parseObject = (body: unknown): unknown => {
  const value = typeof body === 'string' ? parseText(body.trim() === '' ? '{}' : body) : body
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalid('the body must be a JSON object')
  return withoutNulls(value)
}

const parseText = (text: string): unknown => {
  try {
    return parseJson(text)
  } catch (cause) {
    throw new AllotError('invalid', `the body ${(cause as Error).message}`, { cause })
  }
}

/** A request body that a stream route reads. */
interface Body {
  readonly body: Readable
  /** Bytes; undefined when the client does not declare them, or compresses the body. */
  readonly size: number | undefined
}

/**
 * The body of a request for a stream route, decompressed. Reading it fails with `too_large` after `bodyLimit` bytes, and with
 * `bad_request` when it is not valid gzip data.
 * @throws AllotError unsupported_media_type, too_large
 */
export const decompressedBody = (req: IncomingMessage, { accepts, bodyLimit }: StreamRoute): Body => {
  if (accepts !== undefined && mediaTypeOf(req) !== accepts)
    throw new AllotError('unsupported_media_type', `the content type must be ${accepts}`)
  const hasGzip = isGzip(req.headers['content-encoding'])
  const length = req.headers['content-length']
  const size = length === undefined || hasGzip ? undefined : Number(length)
  if (size !== undefined && bodyLimit !== undefined && size > bodyLimit) throw tooLarge(bodyLimit)
  return { body: hasGzip || bodyLimit !== undefined ? limitedBody(req, hasGzip, bodyLimit) : req, size }
}

/** @throws AllotError unsupported_media_type for any encoding but gzip and identity */
const isGzip = (encoding = 'identity'): boolean => {
  if (/^(?:x-)?gzip$/i.test(encoding.trim())) return true
  if (encoding.trim().toLowerCase() === 'identity') return false
  throw new AllotError('unsupported_media_type', `unsupported content encoding ${encoding}: use gzip`)
}

/** Never destroys the request: its connection carries the response. */
const limitedBody = (req: IncomingMessage, hasGzip: boolean, limit = Number.POSITIVE_INFINITY): Readable => {
  const body = new SizeLimit(limit)
  const source = hasGzip ? req.pipe(createGunzip()) : req
  source.pipe(body)
  if (source !== req)
    source.once('error', (cause) =>
      body.destroy(new AllotError('bad_request', 'the body is not valid gzip data', { cause })),
    )
  req.once(
    'close',
    () => req.readableEnded || body.destroy(new Error('the request ended before its body was complete')),
  )
  body.once('close', () => {
    req.unpipe()
    req.resume()
  })
  return body
}

/** Passes bytes through, and fails after `limit` of them. */
class SizeLimit extends Transform {
  #left: number
  readonly #limit: number

  constructor(limit: number) {
    super()
    this.#left = limit
    this.#limit = limit
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, callback: TransformCallback): void {
    this.#left -= chunk.length
    if (this.#left < 0) callback(tooLarge(this.#limit))
    else callback(null, chunk)
  }
}
