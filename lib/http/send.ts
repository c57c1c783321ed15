import type { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { jsonOf } from '../integers.ts'
import { endAfterDrain } from './connection.ts'
import { ClientDisconnected } from './failure.ts'
import { type Produce, SerializedJson } from './responses.ts'

const JSON_TYPE = 'application/json;charset=utf-8'
const HTML_TYPE = 'text/html;charset=utf-8'
const NOTHING = Buffer.alloc(0)

/** Calls `writeHead` once with a flat array, and writes one buffer: the fastest way through node:http. */
const send = (
  res: ServerResponse,
  status: number,
  type: string | undefined,
  bytes: Buffer,
  more: string[],
): void => {
  if (res.headersSent || res.destroyed) return void res.end()
  // The rest of a too large body is not read, so the connection cannot be used again.
  if (status === 413) res.shouldKeepAlive = false
  // RFC 9110 §8.6: a 204 has no Content-Length, and a 304 only the one that a 200 would have.
  res.writeHead(status, headersOf(type, status === 204 || status === 304 ? undefined : bytes, more))
  // Node omits the body of a response to HEAD, and keeps its Content-Length.
  endAfterDrain(res, bytes)
}

const headersOf = (type: string | undefined, bytes: Buffer | undefined, more: string[]): string[] => {
  const headers = [
    'X-Content-Type-Options',
    'nosniff',
    'Cache-Control',
    'max-age=0, private, must-revalidate',
    ...more,
  ]
  if (type !== undefined) headers.push('Content-Type', type)
  if (bytes !== undefined) headers.push('Content-Length', String(bytes.length))
  return headers
}

const bytesOf = (value: unknown): Buffer =>
  value instanceof SerializedJson ? value.bytes : Buffer.from(jsonOf(value))

const serialized = (value: unknown): SerializedJson<unknown> =>
  value instanceof SerializedJson ? value : new SerializedJson(value)

/** Sends JSON with its entity tag, or 304 when the client has the same content already. */
export const sendWithETag = (
  req: IncomingMessage,
  res: ServerResponse,
  status: number,
  value: unknown,
  more: string[] = [],
): void => {
  const { bytes, tag } = serialized(value)
  const tagged = ['ETag', tag, ...more]
  if (matchesETag(req.headers['if-none-match'], tag)) send(res, 304, undefined, NOTHING, tagged)
  else send(res, status, JSON_TYPE, bytes, tagged)
}

/** Compares an If-None-Match header weakly (RFC 9110 §13.1.2), since a proxy may have added `W/`. */
export const matchesETag = (header: string | undefined, tag: string): boolean =>
  header !== undefined &&
  (header.trim() === '*' || header.split(',').some((item) => item.trim().replace(/^W\//, '') === tag))

export const sendJson = (res: ServerResponse, status: number, value: unknown, more: string[] = []): void =>
  send(res, status, JSON_TYPE, bytesOf(value), more)

/** Sends plain text, for programs that print error responses, such as git. */
export const sendText = (res: ServerResponse, status: number, text: string, more: string[] = []): void =>
  send(res, status, 'text/plain;charset=utf-8', Buffer.from(text), more)

export const sendHtml = (res: ServerResponse, status: number, html: string): void =>
  send(res, status, HTML_TYPE, Buffer.from(html), [])

export const sendEmpty = (res: ServerResponse, status: number, more: string[] = []): void =>
  send(res, status, undefined, NOTHING, more)

/** Sends text with exactly these headers, `X-Content-Type-Options` and its length. */
export const sendWithHeaders = (
  res: ServerResponse,
  status: number,
  text: string,
  headers: string[],
): void => {
  if (res.headersSent || res.destroyed) return void res.end()
  const bytes = Buffer.from(text)
  const length = status === 204 || status === 304 ? [] : ['Content-Length', String(bytes.length)]
  res.writeHead(status, ['X-Content-Type-Options', 'nosniff', ...length, ...headers])
  endAfterDrain(res, bytes)
}

/** Sends a page or a script. */
export const sendFile = (res: ServerResponse, type: string, bytes: Buffer, more: string[]): void => {
  const headers = [
    'X-Content-Type-Options',
    'nosniff',
    'Content-Type',
    type,
    'Content-Length',
    String(bytes.length),
  ]
  res.writeHead(200, [...headers, ...more])
  endAfterDrain(res, bytes)
}

const HEADERS = [
  ...['X-Content-Type-Options', 'nosniff'],
  ...['Cache-Control', 'no-store'],
  ...['Content-Type', 'application/x-ndjson'],
]

/**
 * Sends lines as they are produced, no faster than the client reads them. The status is sent with the first bytes, so an
 * error before that still gets an error response.
 */
export const sendStream = async (
  req: IncomingMessage,
  res: ServerResponse,
  status: number,
  produce: Produce,
): Promise<void> => {
  const begin = () => res.headersSent || res.writeHead(status, HEADERS)
  const idleTimeout = idleTimeoutOf(res)
  if (req.method !== 'HEAD') {
    idleTimeout.pause()
    await produce(async (bytes) => {
      if (res.destroyed) throw disconnected()
      begin()
      if (res.write(bytes)) return
      idleTimeout.resume()
      await drained(res)
      idleTimeout.pause()
    })
    idleTimeout.resume()
  }
  begin()
  res.end()
}

/** Idle timeout of the connection: it must cut off clients that do not read, and not a producer that takes long. */
const idleTimeoutOf = ({ socket }: ServerResponse) => {
  const limit = socket instanceof Socket ? (socket.timeout ?? 0) : 0
  const set = (milliseconds: number) => {
    if (limit > 0) socket!.setTimeout(milliseconds)
  }
  return { pause: () => set(0), resume: () => set(limit) }
}

const drained = (res: ServerResponse): Promise<void> =>
  new Promise((resolve, reject) => {
    const end = (settle: () => void) => () => {
      res.off('drain', onDrain).off('close', onClose)
      settle()
    }
    const onDrain = end(resolve)
    const onClose = end(() => reject(disconnected()))
    res.once('drain', onDrain).once('close', onClose)
  })

const disconnected = () => new ClientDisconnected('the client disconnected before the response was complete')
