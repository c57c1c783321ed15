import type { IncomingMessage } from 'node:http'
import { type Readable, Transform, type TransformCallback } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { AllotError } from '../errors.ts'
import type { StreamRoute } from './stream-route.ts'

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
