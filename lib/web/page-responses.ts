import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Brand, logoOrigin } from '../host-pages/brand.ts'
import type { RequestContext } from '../http/dispatcher.ts'
import { endAfterDrain } from '../http/drain.ts'
import { dispositionOf } from '../http/responses.ts'
import { sendHead, sendStreamReply, signalOf } from '../http/send.ts'
import type { Download } from './parts/route.ts'
import type { Asset } from './styles/index.ts'

/**
 * Scripts, styles and form targets of this origin only, none of them inline; images of this origin, of that
 * of the logo and of that of the host's pictures of accounts; no framing.
 */
const policyOf = (brand: Brand, avatarOrigin: string | undefined): string => {
  const images = ["'self'", logoOrigin(brand), avatarOrigin].filter(Boolean).join(' ')
  return `default-src 'none'; script-src 'self'; style-src 'self'; img-src ${images}; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`
}

/** `gzip` in an Accept-Encoding header, unless its weight is 0 (RFC 9110 §12.5.3). */
const ACCEPTS_GZIP = /(?:^|,)\s*(?:x-)?gzip\s*(?:;\s*q=(?!0(?:\.0*)?\s*(?:,|$))[\d.]+\s*)?(?:,|$)/i

/** Sends the responses of the pages, with the headers that protect them. */
export class PageResponses {
  readonly #headers: Readonly<Record<string, string>>

  constructor(brand: Brand, avatarOrigin: string | undefined) {
    this.#headers = {
      'Content-Security-Policy': policyOf(brand, avatarOrigin),
      'X-Content-Type-Options': 'nosniff',
      'X-Frame-Options': 'DENY',
      // With `no-referrer`, browsers would send forms without an Origin.
      'Referrer-Policy': 'same-origin',
      'Cross-Origin-Opener-Policy': 'same-origin',
      'Cross-Origin-Resource-Policy': 'same-origin',
    }
  }

  /** Sends a page that must not be cached, since it shows data of its viewer. */
  page(res: ServerResponse, status: number, html: string, more: readonly string[] = []): void {
    const headers = ['Content-Type', 'text/html;charset=utf-8', 'Cache-Control', 'no-store', ...more]
    this.#send(res, status, html, headers)
  }

  redirect(res: ServerResponse, to: string): void {
    this.#send(res, 303, '', ['Location', to, 'Cache-Control', 'no-store'])
  }

  asset(req: IncomingMessage, res: ServerResponse, { type, text, gzip, ...asset }: Asset): void {
    const isCompressed = ACCEPTS_GZIP.test(String(req.headers['accept-encoding'] ?? ''))
    const tag = isCompressed ? asset.tag.replace(/"$/, '-gzip"') : asset.tag
    const headers = ['ETag', tag, 'Cache-Control', 'no-cache']
    // The host may have set others.
    res.appendHeader('Vary', 'Accept-Encoding')
    if (req.headers['if-none-match']?.includes(tag)) return this.#send(res, 304, '', headers)
    const encoding = isCompressed ? ['Content-Encoding', 'gzip'] : []
    this.#send(res, 200, isCompressed ? gzip : text, [...headers, 'Content-Type', type, ...encoding])
  }

  /** Sends a file that the browser saves under its name, and does not display. */
  async download({ req, res, rights }: RequestContext, file: Download): Promise<void> {
    const { type, content, size } = file
    const headers = {
      'Content-Type': type,
      'Content-Disposition': dispositionOf(file),
      'Cache-Control': 'no-store',
    }
    if (typeof content === 'string') return this.#send(res, 200, content, Object.entries(headers).flat())
    const signal = signalOf(res)
    rights.watch(signal, () => res.destroy())
    const body = async () => ({ stream: await content(signal) })
    const all = { ...this.#headers, ...headers, 'Content-Length': String(size) }
    const reply = { status: 200, headers: all, body }
    if (req.method === 'HEAD') sendHead(res, reply)
    else await sendStreamReply(res, reply)
  }

  #send(
    res: ServerResponse,
    status: number,
    body: string | Buffer,
    headers: readonly string[],
    protection = this.#headers,
  ): void {
    if (res.headersSent || res.destroyed) return void res.end()
    if (status === 413) res.shouldKeepAlive = false
    const length = status === 304 ? [] : ['Content-Length', String(Buffer.byteLength(body))]
    res.writeHead(status, [...Object.entries(protection).flat(), ...headers, ...length])
    endAfterDrain(res, body, Buffer.byteLength(body))
  }
}
