import type { IncomingMessage, ServerResponse } from 'node:http'
import { jsonOf } from '../integers.ts'
import { endAfterDrain } from './connection/drain.ts'
import { SerializedJson } from './responses.ts'

const JSON_TYPE = 'application/json;charset=utf-8'
const HTML_TYPE = 'text/html;charset=utf-8'
const NOTHING = Buffer.alloc(0)

/** One `writeHead` with a flat array and one buffer: what node:http is fastest with. */
const send = (
  res: ServerResponse,
  status: number,
  type: string | undefined,
  bytes: Buffer,
  more: string[],
): void => {
  if (res.headersSent || res.destroyed) return void res.end()
  // The rest of what is too large is not waited for, so the connection cannot be used again.
  if (status === 413) res.shouldKeepAlive = false
  // RFC 9110, 8.6: no Content-Length in a 204, nor in a 304 that does not know the one of a 200.
  res.writeHead(status, headersOf(type, status === 204 || status === 304 ? undefined : bytes, more))
  // Node itself leaves the body out of an answer to HEAD, and keeps its Content-Length.
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

const readyOf = (value: unknown): SerializedJson<unknown> =>
  value instanceof SerializedJson ? value : new SerializedJson(value)

/** JSON with a tag of its content, or 304 for whoever has that content already. */
export const sendWithETag = (
  req: IncomingMessage,
  res: ServerResponse,
  status: number,
  value: unknown,
  more: string[] = [],
): void => {
  const { bytes, tag } = readyOf(value)
  const tagged = ['ETag', tag, ...more]
  if (isHeld(req.headers['if-none-match'], tag)) send(res, 304, undefined, NOTHING, tagged)
  else send(res, status, JSON_TYPE, bytes, tagged)
}

/** Tags are compared weakly here, as RFC 9110 has it: a proxy may have put `W/` in front. */
const isHeld = (held: string | undefined, tag: string): boolean =>
  held !== undefined &&
  (held.trim() === '*' || held.split(',').some((one) => one.trim().replace(/^W\//, '') === tag))

export const sendJson = (res: ServerResponse, status: number, value: unknown, more: string[] = []): void =>
  send(res, status, JSON_TYPE, bytesOf(value), more)

/** For programs that show it to people, as git does. */
export const sendText = (res: ServerResponse, status: number, text: string, more: string[] = []): void =>
  send(res, status, 'text/plain;charset=utf-8', Buffer.from(text), more)

export const sendHtml = (res: ServerResponse, status: number, html: string): void =>
  send(res, status, HTML_TYPE, Buffer.from(html), [])

export const sendEmpty = (res: ServerResponse, status: number, more: string[] = []): void =>
  send(res, status, undefined, NOTHING, more)

/** Text, with every header that it is to have but its length. */
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

/** What is no answer of the API: a page, a script. */
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
