import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { endAfterDrain } from './drain.ts'
import { ClientDisconnected } from './failure.ts'
import {
  matchesETag,
  type OpenBody,
  type OpenDownload,
  type Produce,
  type Sendable,
  SerializedJson,
  type StreamBody,
} from './responses.ts'

export const PRIVATE = ['Cache-Control', 'max-age=0, private, must-revalidate']
export const JSON_HEADERS: readonly string[] = [...PRIVATE, 'Content-Type', 'application/json;charset=utf-8']
export const HTML_HEADERS: readonly string[] = [...PRIVATE, 'Content-Type', 'text/html;charset=utf-8']
export const TEXT_HEADERS: readonly string[] = [...PRIVATE, 'Content-Type', 'text/plain;charset=utf-8']

/**
 * Sends a response with these headers, `X-Content-Type-Options` and its length. Calls `writeHead` once with a
 * flat array, and passes text as text: the fastest way through node:http.
 * @param size bytes of the body, where they are known
 */
export const send = (
  res: ServerResponse,
  status: number,
  body: Buffer | string,
  headers: readonly string[],
  size = Buffer.byteLength(body),
): void => {
  if (res.headersSent || res.destroyed) return void res.end()
  // The rest of a too large body is only discarded, for a short time, so the connection is closed.
  if (status === 413) res.shouldKeepAlive = false
  const all = ['X-Content-Type-Options', 'nosniff', ...headers]
  // RFC 9110 §8.6: a 204 has no Content-Length, and a 304 only the one that a 200 would have.
  if (status !== 204 && status !== 304) all.push('Content-Length', String(size))
  res.writeHead(status, all)
  // Node omits the body of a response to HEAD, and keeps its Content-Length.
  endAfterDrain(res, body, size)
}

export const sendEmpty = (res: ServerResponse, status: number, headers: readonly string[] = []): void =>
  send(res, status, '', [...PRIVATE, ...headers])

/** Sends any response, whoever made it. */
export const sendReply = (
  req: IncomingMessage,
  res: ServerResponse,
  reply: Sendable,
): Promise<void> | void => {
  const { status, body = '', lines } = reply
  const headers = flat(reply.headers)
  if (lines !== undefined) return sendLines(req, res, status, lines)
  if (typeof body === 'function') return sendStream(req, res, { ...reply, headers, body })
  if (!(body instanceof SerializedJson)) return send(res, status, body, headers)
  const { text, tag, size } = body
  const isFound = status < 300 && (req.method === 'GET' || req.method === 'HEAD')
  if (!isFound) send(res, status, text, [...JSON_HEADERS, ...headers], size)
  else if (matchesETag(req.headers['if-none-match'], tag)) sendEmpty(res, 304, ['ETag', tag, ...headers])
  else send(res, status, text, [...JSON_HEADERS, 'ETag', tag, ...headers], size)
}

const flat = (headers: Sendable['headers'] = []): readonly string[] =>
  Array.isArray(headers) ? headers : Object.entries(headers as Readonly<Record<string, string>>).flat()

const STREAM_HEADERS = [
  ...['X-Content-Type-Options', 'nosniff'],
  ...['Cache-Control', 'no-store'],
  ...['Content-Type', 'application/x-ndjson'],
]

/**
 * Sends lines as they are produced, no faster than the client reads them. The status is sent with the first
 * bytes, so an error before that still gets an error response.
 */
const sendLines = async (
  req: IncomingMessage,
  res: ServerResponse,
  status: number,
  produce: Produce,
): Promise<void> => {
  const begin = () => res.headersSent || res.writeHead(status, STREAM_HEADERS)
  const idleTimeout = idleTimeoutOf(res)
  if (req.method !== 'HEAD') {
    idleTimeout.pause()
    const write = async (bytes: Uint8Array) => {
      if (res.destroyed) throw disconnected()
      begin()
      if (res.write(bytes)) return
      idleTimeout.resume()
      await drained(res)
      idleTimeout.pause()
    }
    // The response to an error must not wait for a client without end, either.
    await produce(write).finally(() => idleTimeout.resume())
  }
  begin()
  res.end()
}

/**
 * Idle timeout of the connection: it must cut off clients that do not read, and not a producer that takes
 * long.
 */
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

/** @returns a signal that is aborted when the response ends or the client disconnects */
export const signalOf = (res: ServerResponse): AbortSignal => {
  const ended = new AbortController()
  if (res.destroyed) ended.abort()
  res.once('close', () => ended.abort())
  return ended.signal
}

const disconnected = () => new ClientDisconnected('the client disconnected before the response was complete')

/** The headers that a handler follows. RFC 9110 §14.2 defines Range for GET only. */
export const headersOf = ({ method, headers }: IncomingMessage): IncomingHttpHeaders =>
  method === 'HEAD' ? { ...headers, range: undefined } : headers

/**
 * Sends the status with the first byte of the body: until then a failure can still get an error response.
 * @throws ClientDisconnected when the client leaves before the end; Error when the body fails or is shorter
 * than its Content-Length
 */
const sendStream = async (
  req: IncomingMessage,
  res: ServerResponse,
  { status, headers, body, brokenBody }: Sendable & { headers: readonly string[]; body: OpenBody },
): Promise<void> => {
  if (req.method === 'HEAD') return void res.writeHead(status, [...headers]).end()
  let isClosed = res.destroyed
  res.once('close', () => {
    isClosed = true
  })
  try {
    const { stream, completed } = await begun(body, brokenBody)
    // Without this, a client would wait for the missing bytes of a body that is too short.
    res.strictContentLength = true
    res.writeHead(status, [...headers])
    await pipeline(stream, res, { end: false })
    await completed
    res.end()
  } catch (error) {
    throw isClosed ? disconnected() : error
  }
}

/** Opens a download once the response may begin. */
export const openDownload = (req: IncomingMessage, res: ServerResponse, open: OpenDownload) =>
  open({ headers: headersOf(req), signal: signalOf(res) })

/** Opens a body, and waits for its first byte. */
const begun = async (open: OpenBody, brokenBody: Promise<never> | undefined): Promise<StreamBody> => {
  const opening = open()
  const beginning = opening.then(async (body) => {
    await firstByte(body.stream)
    return body
  })
  try {
    return await Promise.race([beginning, ...(brokenBody === undefined ? [] : [brokenBody])])
  } catch (error) {
    opening.then(({ stream }) => stream.destroy()).catch(() => undefined)
    throw error
  }
}

/**
 * Resolves at the first byte or at the end of a body.
 * @throws Error when the body is destroyed before, which emits only `close` when it is destroyed without an
 * error
 */
const firstByte = async (body: Readable): Promise<void> => {
  if (body.readableLength > 0 || body.readableEnded) return
  await new Promise<void>((resolve, reject) => {
    const onClose = () => reject(body.errored ?? new Error('the body was destroyed before its first byte'))
    if (body.closed) return onClose()
    body.once('readable', resolve)
    body.once('end', resolve)
    body.once('error', reject)
    body.once('close', onClose)
  })
}
