import type { IncomingMessage } from 'node:http'
import { AllotError, invalid } from '../errors.ts'
import type { Route } from './route.ts'
import { validated } from './validate.ts'

/** What reading a body needs to know of its route. */
type Described = Pick<Route, 'accepts' | 'bodyLimit' | 'body'>

/** The client went away: there is nobody to answer. */
export class ClientGone extends Error {}

/** The body of a request as its route declares it. */
export const readBody = async (req: IncomingMessage, route: Described, limit: number): Promise<unknown> => {
  checkType(req, route)
  const bytes = await readBytes(req, route.bodyLimit ?? limit)
  const text = decoded(bytes)
  return validated(route.body!, route.accepts === undefined ? parsed(text) : text)
}

/** "another content type than the operation takes gets 415 (absent is fine)" */
const checkType = (req: IncomingMessage, { accepts }: Described) => {
  const header = req.headers['content-type']
  if (header === undefined) return
  const type = header.split(';', 1)[0]!.trim().toLowerCase()
  const taken =
    accepts === undefined ? /^(?:application|text)\/(?:[\w.-]+\+)?json$/.test(type) : type === accepts
  if (!taken)
    throw new AllotError(
      'unsupported_media_type',
      `this operation takes ${accepts ?? 'application/json'}, not ${type}`,
    )
}

const readBytes = (req: IncomingMessage, limit: number): Promise<Buffer> => {
  const tooLarge = () => new AllotError('too_large', `the body must not be larger than ${limit} bytes`)
  if (Number(req.headers['content-length'] ?? 0) > limit) return Promise.reject(tooLarge())
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    req.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= limit) chunks.push(chunk)
      else reject(tooLarge())
    })
    req.on('end', () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)))
    req.on('close', () => reject(new ClientGone('the request ended before its body did')))
    req.on('error', () => reject(new ClientGone('the request broke off')))
  })
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

const decoded = (bytes: Buffer): string => {
  try {
    return utf8.decode(bytes)
  } catch {
    throw invalid('the body is no valid UTF-8')
  }
}

/** An empty body counts as `{}`, and a member that is null as absent, as Forgejo's clients send them. */
const parsed = (text: string): unknown => {
  if (text.trim() === '') return {}
  const value = json(text)
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalid('the body must be a JSON object')
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null))
}

const json = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw invalid(`the body is no JSON: ${(cause as Error).message}`)
  }
}
