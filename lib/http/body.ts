import type { IncomingMessage } from 'node:http'
import { Readable, Transform, type TransformCallback } from 'node:stream'
import { MIMEType } from 'node:util'
import { createGunzip } from 'node:zlib'
import type { BusboyFileStream, BusboyInstance } from '@fastify/busboy'
import { AllotError, invalid } from '../errors.ts'
import { AT_ONCE, type BodyTurn } from './body-turns.ts'
import { hasBody } from './drain.ts'
import { ClientDisconnected } from './failure.ts'
import {
  type FileField,
  isFileField,
  type Route,
  type StreamRoute,
  type Upload,
  type UploadedFile,
} from './route.ts'
import { parseObject, validate } from './validate.ts'

/** Request bodies: read whole for JSON routes and forms, as streams for stream routes. */

type DeclaredBody = Pick<Route, 'accepts' | 'bodyLimit' | 'maxValues' | 'body'>

/**
 * Reads and validates the body of a request as its route declares it.
 * @param limit bytes, for a route without a `bodyLimit`
 * @throws AllotError unsupported_media_type, too_large, invalid, misconfigured, unavailable
 */
export const readBody = async (
  req: IncomingMessage,
  route: DeclaredBody,
  limit: number,
  { turns, ...sender }: BodyTurn = AT_ONCE,
): Promise<unknown> => {
  checkContentType(req, route)
  const { body } = route
  if (isFileField(body)) return readUpload(req, body)
  const parse = (text: unknown) => validate(body!, route.accepts ? text : parseObject(text, route.maxValues))
  if (req.readableEnded) return parse(parsedByHost(req))
  const maxBytes = route.bodyLimit ?? limit
  return turns.read(declaredSize(req, maxBytes) ?? maxBytes, sender, async () => {
    const bytes = await readBytes(req, maxBytes)
    return turns.parse(bytes.length, sender, () => parse(decodeUtf8(bytes)))
  })
}

/** Bytes of a body by its headers; undefined when it is sent in chunks. @throws AllotError too_large, before anything is read */
const declaredSize = ({ headers }: IncomingMessage, limit = Number.POSITIVE_INFINITY): number | undefined => {
  const text = headers['content-length']
  if (text !== undefined && Number(text) > limit) throw tooLarge(limit)
  return text === undefined ? undefined : Number(text)
}

/** A request without a Content-Type is accepted, except where a form with a file is expected, which needs its boundary. */
const checkContentType = (req: IncomingMessage, { accepts }: Pick<Route, 'accepts'>): void => {
  // A host that has read the body has decompressed it too.
  if (!req.readableEnded) checkIdentity(req.headers['content-encoding'])
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

/**
 * The result of a body parser of the host, such as `express.json()`, which has already read the body.
 * @throws AllotError misconfigured when the result is not in `req.body`
 */
const parsedByHost = (req: IncomingMessage): unknown => {
  const { body } = req as { body?: unknown }
  if (body === undefined) checkUnread(req)
  return body ?? ''
}

/** @throws AllotError misconfigured when the host has already read the body */
const checkUnread = (req: IncomingMessage): void => {
  if (req.readableEnded && hasBody(req)) throw bodyWasRead()
}

export const bodyWasRead = (): AllotError =>
  new AllotError(
    'misconfigured',
    'the server read the request body before Allot: mount Allot before body parsers, in Fastify with allot/fastify',
  )

const readBytes = (req: IncomingMessage, limit: number): Promise<Buffer> => {
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

/**
 * Reads a small multipart form into memory.
 * @param limit bytes
 * @throws AllotError unsupported_media_type, too_large, invalid, misconfigured
 */
export const readMultipart = async (req: IncomingMessage, limit: number): Promise<FormData> => {
  checkContentType(req, { accepts: FORM })
  checkUnread(req)
  declaredSize(req, limit)
  const body = await readBytes(req, limit)
  const type = req.headers['content-type']!
  try {
    refuseManyParts(body, `--${new MIMEType(type).params.get('boundary') ?? ''}`)
    return await new Response(new Uint8Array(body), { headers: { 'content-type': type } }).formData()
  } catch (cause) {
    if (cause instanceof AllotError) throw cause
    throw new AllotError('invalid', 'the body is not complete multipart/form-data', { cause })
  }
}

/** Refuses a form before its parts are read, which takes a tenth of a millisecond for each, while all other requests wait. */
const refuseManyParts = (body: Buffer, delimiter: string): void => {
  let parts = 0
  for (let index = body.indexOf(delimiter); index !== -1; index = body.indexOf(delimiter, index + 1))
    if (++parts > LIMITS.parts) throw invalid(`the form must not have more than ${LIMITS.parts} parts`)
}

/** A request body that a stream route reads. */
interface Body {
  readonly body: Readable
  /** Bytes; undefined when the client does not declare them, or compresses the body. */
  readonly size: number | undefined
}

/**
 * The body of a request for a stream route, decompressed.
 * @throws AllotError unsupported_media_type, too_large, misconfigured. Reading the body fails with too_large after `bodyLimit`
 * bytes, and with bad_request when it is not valid gzip data
 */
export const decompressedBody = (req: IncomingMessage, { accepts, bodyLimit }: StreamRoute): Body => {
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

/** @throws AllotError unsupported_media_type: only bodies of stream routes are decompressed */
const checkIdentity = (encoding = '', advice = 'only identity is taken here'): void => {
  if (/^(?:identity)?$/i.test(encoding.trim())) return
  throw new AllotError('unsupported_media_type', `unsupported content encoding ${encoding}: ${advice}`)
}

/** The body of a request up to a limit. It never destroys the request, whose connection carries the response. */
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

const readUpload = (req: IncomingMessage, { field }: FileField): Upload => {
  checkUnread(req)
  return { size: declaredSize(req), file: () => readFile(req, field) }
}

/** Resolves when the file begins, while the rest of the body is still arriving. */
const readFile = async (req: IncomingMessage, field: string): Promise<UploadedFile> => {
  const parser = await createParser(req)
  let file: BusboyFileStream | undefined
  let complete: Promise<void> | undefined
  const found = new Promise<UploadedFile>((resolve, reject) => {
    complete = new Promise<void>((end, fail) => {
      parser.on('file', (name, stream, filename) => {
        // The parser reports a body that ends too early.
        stream.on('error', () => undefined)
        if (name !== field) return fail(invalid(`${name}: unexpected file, send it in the field ${field}`))
        if (file !== undefined) return fail(invalid(`${field}: expected one file, got several`))
        file = stream
        const content = Readable.from(
          bytesOf(stream, () => complete),
          BINARY,
        )
        resolve({ name: filename ?? '', content })
      })
      const tooMany = () => fail(invalid('the form has too many fields'))
      parser.on('partsLimit', tooMany).on('fieldsLimit', tooMany)
      parser.on('error', (cause: unknown) =>
        fail(new AllotError('invalid', 'the body is not complete multipart/form-data', { cause })),
      )
      parser.on('finish', () => (file === undefined ? fail(invalid(`${field}: a file is required`)) : end()))
      const disconnect = () => fail(disconnected())
      req.once('error', disconnect).once('close', () => req.readableEnded || disconnect())
      if (req.destroyed) disconnect()
    })
    complete.catch(reject)
  })
  complete!.catch((error: Error) => {
    req.unpipe(parser)
    file?.destroy(error)
  })
  req.pipe(parser)
  return found
}

const BINARY = { objectMode: false, highWaterMark: 256 * 1024 }

/** Yields the bytes of a file, and fails when the rest of the body does. */
async function* bytesOf(
  file: BusboyFileStream,
  complete: () => Promise<void> | undefined,
): AsyncGenerator<Buffer> {
  try {
    yield* file
  } catch (error) {
    await complete()
    throw error
  }
  await complete()
}

/** Clients may send a few other fields beside the file; they are ignored. */
const LIMITS = { fields: 16, fieldSize: 1024, parts: 20, headerPairs: 64, headerSize: 16 * 1024 }

const createParser = async (req: IncomingMessage): Promise<BusboyInstance> => {
  // Loaded at the first upload, so that a server starts faster.
  const { Busboy } = await import('@fastify/busboy')
  try {
    return new Busboy({
      headers: { 'content-type': req.headers['content-type'] ?? '' },
      limits: LIMITS,
      isPartAFile: (_name, _type, filename) => filename !== undefined,
    })
  } catch (cause) {
    throw new AllotError('invalid', 'the content type has no multipart boundary', { cause })
  }
}
