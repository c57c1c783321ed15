import type { ServerResponse } from 'node:http'
import { ReadyJson } from './responses.ts'

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
  const headers = [
    'X-Content-Type-Options',
    'nosniff',
    'Cache-Control',
    'max-age=0, private, must-revalidate',
    ...more,
  ]
  if (type !== undefined) headers.push('Content-Type', type)
  if (status !== 204) headers.push('Content-Length', String(bytes.length))
  res.writeHead(status, headers)
  // Node itself leaves the body out of an answer to HEAD, and keeps its Content-Length.
  res.end(bytes)
}

export const sendJson = (res: ServerResponse, status: number, value: unknown, more: string[] = []): void =>
  send(
    res,
    status,
    JSON_TYPE,
    value instanceof ReadyJson ? value.bytes : Buffer.from(JSON.stringify(value)),
    more,
  )

export const sendHtml = (res: ServerResponse, status: number, html: string): void =>
  send(res, status, HTML_TYPE, Buffer.from(html), [])

export const sendEmpty = (res: ServerResponse, status: number, more: string[] = []): void =>
  send(res, status, undefined, NOTHING, more)

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
  res.end(bytes)
}
