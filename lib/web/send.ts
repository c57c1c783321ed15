import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { endAfterDrain } from '../http/connection.ts'

/** No scripts; styles, images and form targets of this origin only; no framing. */
const POLICY =
  "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

const SECURITY_HEADERS = [
  ['Content-Security-Policy', POLICY],
  ['X-Content-Type-Options', 'nosniff'],
  ['X-Frame-Options', 'DENY'],
  // With `no-referrer`, browsers would send forms without an Origin.
  ['Referrer-Policy', 'same-origin'],
  ['Cross-Origin-Opener-Policy', 'same-origin'],
  ['Cross-Origin-Resource-Policy', 'same-origin'],
].flat()

const send = (res: ServerResponse, status: number, text: string, headers: readonly string[]): void => {
  if (res.headersSent || res.destroyed) return void res.end()
  const bytes = Buffer.from(text)
  if (status === 413) res.shouldKeepAlive = false
  const length = status === 304 ? [] : ['Content-Length', String(bytes.length)]
  res.writeHead(status, [...SECURITY_HEADERS, ...headers, ...length])
  endAfterDrain(res, bytes)
}

/** Sends a page that must not be cached, since it shows data of its viewer. */
export const sendPage = (
  res: ServerResponse,
  status: number,
  html: string,
  more: readonly string[] = [],
): void =>
  send(res, status, html, ['Content-Type', 'text/html;charset=utf-8', 'Cache-Control', 'no-store', ...more])

export const sendRedirect = (res: ServerResponse, to: string, more: readonly string[] = []): void =>
  send(res, 303, '', ['Location', to, 'Cache-Control', 'no-store', ...more])

/** A file that is the same for all viewers. */
export interface Asset {
  readonly type: string
  readonly text: string
  readonly tag: string
}

export const asset = (type: string, text: string): Asset => ({
  type,
  text,
  tag: `"${createHash('sha1').update(text).digest('base64url')}"`,
})

export const sendAsset = (req: IncomingMessage, res: ServerResponse, { type, text, tag }: Asset): void => {
  const headers = ['ETag', tag, 'Cache-Control', 'no-cache']
  if (req.headers['if-none-match']?.includes(tag)) send(res, 304, '', headers)
  else send(res, 200, text, [...headers, 'Content-Type', type])
}
