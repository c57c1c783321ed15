import type { IncomingMessage } from 'node:http'
import { AllotError, invalid } from '../errors.ts'
import { ClientDisconnected } from './connection/disconnect.ts'
import { parseJson, withoutNulls } from './json.ts'
import type { Route } from './route.ts'
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
