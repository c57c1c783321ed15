import type { IncomingMessage } from 'node:http'
import { type Readable, Transform, type TransformCallback } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { AllotError, invalid } from '../../errors.ts'
import { hasBody } from '../drain.ts'
import { isFileField, type Route, type StreamRoute } from '../route.ts'
import { parseObject, validate } from '../validate.ts'
import type { BodyTurn } from './body-turns.ts'
import {
  checkContentType,
  checkIdentity,
  checkUnread,
  declaredSize,
  disconnected,
  mediaTypeOf,
  readBytes,
  tooLarge,
} from './bytes.ts'
import { readUpload } from './multipart.ts'

/** Request bodies: read whole for JSON routes and forms, as streams for files of forms and stream routes. */

type DeclaredBody = Pick<Route, 'accepts' | 'bodyLimit' | 'needsBody' | 'body'>

/**
 * Reads and validates the body of a request as its route declares it.
 * @param limit bytes, for a route without a `bodyLimit`
 * @throws AllotError unsupported_media_type, too_large, invalid, misconfigured, unavailable
 */
export const readBody = async (
  req: IncomingMessage,
  route: DeclaredBody,
  limit: number,
  sender: BodyTurn,
): Promise<unknown> => {
  const { body } = route
  // Some clients send a content type without a body.
  if (hasBody(req) || route.accepts !== undefined) checkContentType(req, route)
  if (isFileField(body)) return readUpload(req, body)
  const parse = (text: unknown) => validate(body!, route.accepts ? text : parseObject(text, route))
  if (req.readableEnded) return parse(parsedByHost(req))
  const maxBytes = route.bodyLimit ?? limit
  return sender.turns.read(declaredSize(req, maxBytes) ?? maxBytes, sender, async () => {
    const bytes = await readBytes(req, maxBytes)
    return sender.turns.parse(bytes.length, sender, () => parse(decodeUtf8(bytes)))
  })
}

/**
 * The result of a body parser of the host, such as `express.json()`, which has already read the body.
 * @throws AllotError misconfigured when the result is not in `req.body`
 */
const parsedByHost = (req: IncomingMessage): unknown => {
  const { body } = req as { body?: unknown }
  if (body === undefined) checkUnread(req)
  return body ?? ''
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

const decodeUtf8 = (bytes: Uint8Array): string => {
  try {
    return utf8.decode(bytes)
  } catch {
    throw invalid('the body is not valid UTF-8')
  }
}

/** A request body that a stream route reads. */
interface Body {
  readonly body: Readable
  /** Bytes; undefined when the client does not declare them, or compresses the body. */
  readonly size: number | undefined
}

/**
 * The body of a request for a stream route, decompressed.
 * @throws AllotError unsupported_media_type, too_large, misconfigured. Reading the body fails with too_large
 * after `bodyLimit` bytes, and with bad_request when it is not valid gzip data
 */
export const decompressedBody = (
  req: IncomingMessage,
  { accepts, bodyLimit }: Pick<StreamRoute, 'accepts' | 'bodyLimit'>,
): Body => {
  if (accepts !== undefined && mediaTypeOf(req) !== accepts)
    throw new AllotError('unsupported_media_type', `the content type must be ${accepts}`)
  checkUnread(req)
  const hasGzip = isGzip(req.headers['content-encoding'])
  const size = hasGzip ? undefined : declaredSize(req, bodyLimit)
  return { body: hasGzip || bodyLimit !== undefined ? limitedBody(req, hasGzip, bodyLimit) : req, size }
}

const isGzip = (encoding = ''): boolean => {
  if (/^(?:x-)?gzip$/i.test(encoding.trim())) return true
  checkIdentity(encoding, 'use gzip')
  return false
}

/** The body up to a limit. It never destroys the request, whose connection carries the response. */
const limitedBody = (req: IncomingMessage, hasGzip: boolean, limit = Number.POSITIVE_INFINITY): Readable => {
  const body = new SizeLimit(limit)
  const source = hasGzip ? req.pipe(createGunzip()) : req
  source.pipe(body)
  if (source !== req)
    source.once('error', (cause) =>
      body.destroy(new AllotError('bad_request', 'the body is not valid gzip data', { cause })),
    )
  req.once('close', () => req.readableEnded || body.destroy(disconnected()))
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
