import type { IncomingMessage } from 'node:http'
import { type Readable, Transform, type TransformCallback } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { AllotError, invalid } from '../errors.ts'
import { ClientDisconnected } from './failure.ts'
import { parseJson, withoutNulls } from './json.ts'
import type { Route, StreamRoute } from './route.ts'
import { isFileField, readUpload } from './upload.ts'
import { validate } from './validate.ts'

/** What reading a body needs to know of its route. */
type Described = Pick<Route, 'accepts' | 'bodyLimit' | 'body'>

/** The body of a request as its route declares it. */
export const readBody = async (req: IncomingMessage, route: Described, limit: number): Promise<unknown> => {
  checkType(req, route)
  const { body } = route
  if (isFileField(body)) return readUpload(req, body)
  const given = req.readableEnded ? readBefore(req) : await readBytes(req, route.bodyLimit ?? limit)
  const text = given instanceof Uint8Array ? decoded(given) : given
  return validate(body!, route.accepts === undefined ? members(text) : text)
}

/** "another content type than the operation takes gets 415 (absent is fine)" */
const checkType = (req: IncomingMessage, { accepts }: Described) => {
  const header = req.headers['content-type']
  if (header === undefined && accepts !== FORM) return
  const type = (header ?? '').split(';', 1)[0]!.trim().toLowerCase()
  const taken =
    accepts === undefined ? /^(?:application|text)\/(?:[\w.-]+\+)?json$/.test(type) : type === accepts
  if (!taken)
    throw new AllotError(
      'unsupported_media_type',
      `this operation takes ${accepts ?? 'application/json'}, not ${type || 'a body of no type'}`,
    )
}
const FORM: Route['accepts'] = 'multipart/form-data'

/** What a body parser of the host, such as `express.json()`, left of a body that it has read already. */
const readBefore = (req: IncomingMessage): unknown => (req as { body?: unknown }).body ?? ''

const readBytes = (req: IncomingMessage, limit: number): Promise<Buffer> => {
  const tooLarge = () => new AllotError('too_large', `the body must not be larger than ${limit} bytes`)
  if (Number(req.headers['content-length'] ?? 0) > limit) return Promise.reject(tooLarge())
  if (req.destroyed) return Promise.reject(gone())
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    req.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= limit) chunks.push(chunk)
      else reject(tooLarge())
    })
    req.on('end', () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)))
    req.on('close', () => req.readableEnded || reject(gone()))
    req.on('error', () => reject(gone()))
  })
}

const gone = () => new ClientDisconnected('the request ended before its body did')

const utf8 = new TextDecoder('utf-8', { fatal: true })

const decoded = (bytes: Uint8Array): string => {
  try {
    return utf8.decode(bytes)
  } catch {
    throw invalid('the body is no valid UTF-8')
  }
}

/** An empty body counts as `{}`. */
const members = (given: unknown): unknown => {
  const value = typeof given === 'string' ? json(given.trim() === '' ? '{}' : given) : given
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalid('the body must be a JSON object')
  return withoutNulls(value)
}

const json = (text: string): unknown => {
  try {
    return parseJson(text)
  } catch (cause) {
    throw new AllotError('invalid', `the body ${(cause as Error).message}`, { cause })
  }
}

/** The body of a request as a stream route is given it. */
export interface Body {
  readonly body: Readable
  /** Bytes, where the client says so. */
  readonly size: number | undefined
}

/** @throws AllotError unsupported_media_type, too_large */
export const decompressedBody = (req: IncomingMessage, { accepts, bodyLimit }: StreamRoute): Body => {
  const type = (req.headers['content-type'] ?? '').split(';', 1)[0]!.trim().toLowerCase()
  if (accepts !== undefined && type !== accepts)
    throw new AllotError('unsupported_media_type', `this takes ${accepts}`)
  const isPacked = compactor(req.headers['content-encoding'])
  const length = req.headers['content-length']
  const size = length === undefined || isPacked ? undefined : Number(length)
  if (size !== undefined && bodyLimit !== undefined && size > bodyLimit) throw tooLarge(bodyLimit)
  return { body: isPacked || bodyLimit !== undefined ? metered(req, isPacked, bodyLimit) : req, size }
}

const compactor = (encoding = 'identity'): boolean => {
  if (/^(?:x-)?gzip$/i.test(encoding.trim())) return true
  if (encoding.trim().toLowerCase() === 'identity') return false
  throw new AllotError('unsupported_media_type', `the content encoding ${encoding} is not taken: gzip is`)
}

const tooLarge = (limit: number) =>
  new AllotError('too_large', `the body must not be larger than ${limit} bytes`)

/** The connection is left alone whatever goes wrong, for the answer goes out by it. */
const metered = (req: IncomingMessage, isPacked: boolean, limit = Number.POSITIVE_INFINITY): Readable => {
  const meter = new Meter(limit)
  const source = isPacked ? req.pipe(createGunzip()) : req
  source.pipe(meter)
  if (source !== req)
    source.once('error', (cause) =>
      meter.destroy(new AllotError('bad_request', 'the body is not what gzip makes', { cause })),
    )
  req.once(
    'close',
    () => req.readableEnded || meter.destroy(new Error('the request ended before its body did')),
  )
  meter.once('close', () => {
    req.unpipe()
    req.resume()
  })
  return meter
}

class Meter extends Transform {
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
