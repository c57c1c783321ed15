import type { IncomingMessage, ServerResponse } from 'node:http'
import type { RequestContext } from '../http/dispatcher.ts'
import type { OpenDownload } from '../http/responses.ts'
import { send, sendDownload, signalOf } from '../http/send.ts'
import { type Brand, logoOrigin } from '../options/pages.ts'
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

/** Sends the responses of the pages, with the headers that protect them besides `X-Content-Type-Options`. */
export class PageResponses {
  readonly #headers: Readonly<Record<string, string>>

  constructor(brand: Brand, avatarOrigin: string | undefined) {
    this.#headers = {
      'Content-Security-Policy': policyOf(brand, avatarOrigin),
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
  async download({ req, res, rights }: RequestContext, open: OpenDownload): Promise<void> {
    rights.watch(signalOf(res), () => res.destroy())
    await sendDownload(req, res, open, this.#headers)
  }

  #send(res: ServerResponse, status: number, body: string | Buffer, headers: readonly string[]): void {
    send(res, status, body, [...Object.entries(this.#headers).flat(), ...headers])
  }
}
