/** What the headers of a request say of its body, and the body as bytes. */
import type { IncomingMessage } from 'node:http'
import { AllotError } from '../../errors.ts'
import { hasBody } from '../drain.ts'
import { ClientDisconnected } from '../failure.ts'
import type { Route } from '../route.ts'

/**
 * Bytes of a body by its headers; undefined when it is sent in chunks.
 * @throws AllotError too_large
 */
export const declaredSize = (
  { headers }: IncomingMessage,
  limit = Number.POSITIVE_INFINITY,
): number | undefined => {
  const text = headers['content-length']
  if (text !== undefined && Number(text) > limit) throw tooLarge(limit)
  return text === undefined ? undefined : Number(text)
}

/** The Content-Type may be absent, except for a form with a file, which needs its boundary. */
export const checkContentType = (req: IncomingMessage, { accepts }: Pick<Route, 'accepts'>): void => {
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

export const FORM = 'multipart/form-data'

const JSON_TYPE = /^(?:application|text)\/(?:[\w.-]+\+)?json$/

/** The content type without its parameters; empty when absent. */
export const mediaTypeOf = ({ headers }: IncomingMessage): string =>
  (headers['content-type'] ?? '').split(';', 1)[0]!.trim().toLowerCase()

/** @throws AllotError unsupported_media_type: only bodies of stream routes are decompressed */
export const checkIdentity = (encoding = '', advice = 'only identity is taken here'): void => {
  if (/^(?:identity)?$/i.test(encoding.trim())) return
  throw new AllotError('unsupported_media_type', `unsupported content encoding ${encoding}: ${advice}`)
}

/** @throws AllotError misconfigured when the host has already read the body */
export const checkUnread = (req: IncomingMessage): void => {
  if (req.readableEnded && hasBody(req)) throw bodyWasRead()
}

export const bodyWasRead = (): AllotError =>
  new AllotError(
    'misconfigured',
    'the server read the request body before Allot: mount Allot before body parsers, in Fastify with allot/fastify',
  )

export const readBytes = (req: IncomingMessage, limit: number): Promise<Buffer> => {
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

export const disconnected = () => new ClientDisconnected('the request ended before its body was complete')

export const tooLarge = (limit: number) =>
  new AllotError('too_large', `the body must not be larger than ${limit} bytes`)
