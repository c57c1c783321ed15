import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { endAfterDrain } from '../http/connection/drain.ts'

/** Nothing runs, nothing is loaded but what this server sends, nothing is sent elsewhere, and nobody frames it. */
const POLICY =
  "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

const GUARDED = [
  ['Content-Security-Policy', POLICY],
  ['X-Content-Type-Options', 'nosniff'],
  ['X-Frame-Options', 'DENY'],
  // Browsers leave the Origin out of forms when they are told to send no referrer at all.
  ['Referrer-Policy', 'same-origin'],
  ['Cross-Origin-Opener-Policy', 'same-origin'],
  ['Cross-Origin-Resource-Policy', 'same-origin'],
].flat()

const send = (res: ServerResponse, status: number, text: string, headers: readonly string[]): void => {
  if (res.headersSent || res.destroyed) return void res.end()
  const bytes = Buffer.from(text)
  if (status === 413) res.shouldKeepAlive = false
  const length = status === 304 ? [] : ['Content-Length', String(bytes.length)]
  res.writeHead(status, [...GUARDED, ...headers, ...length])
  endAfterDrain(res, bytes)
}

/** Pages say who one is and what one has: no cache keeps them. */
export const sendPage = (
  res: ServerResponse,
  status: number,
  html: string,
  more: readonly string[] = [],
): void =>
  send(res, status, html, ['Content-Type', 'text/html;charset=utf-8', 'Cache-Control', 'no-store', ...more])

export const sendRedirect = (res: ServerResponse, to: string, more: readonly string[] = []): void =>
  send(res, 303, '', ['Location', to, 'Cache-Control', 'no-store', ...more])

/** What is the same for everyone. */
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
