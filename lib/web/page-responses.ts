import type { IncomingMessage } from 'node:http'
import { matchesETag, type StreamReply } from '../http/responses.ts'
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

/** Headers that protect the pages, besides `X-Content-Type-Options`. */
export const protectionOf = (brand: Brand, avatarOrigin: string | undefined) => ({
  'Content-Security-Policy': policyOf(brand, avatarOrigin),
  'X-Frame-Options': 'DENY',
  // With `no-referrer`, browsers would send forms without an Origin.
  'Referrer-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
})

/** A page must not be cached, since it shows data of its viewer. */
export const pageReply = (
  status: number,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): StreamReply => ({
  status,
  headers: { 'Content-Type': 'text/html;charset=utf-8', 'Cache-Control': 'no-store', ...headers },
  body,
})

export const redirectTo = (url: string): StreamReply => ({
  status: 303,
  headers: { Location: url, 'Cache-Control': 'no-store' },
})

/** A style sheet, a script or an icon, compressed for who accepts that. */
export const assetReply = (
  { headers: { 'accept-encoding': accepted = '', 'if-none-match': known } }: Pick<IncomingMessage, 'headers'>,
  { type, text, gzip, ...asset }: Asset,
): StreamReply => {
  const isCompressed = ACCEPTS_GZIP.test(String(accepted))
  const tag = isCompressed ? asset.tag.replace(/"$/, '-gzip"') : asset.tag
  const headers = { ETag: tag, 'Cache-Control': 'no-cache' }
  if (matchesETag(known, tag)) return { status: 304, headers }
  const encoding = isCompressed ? { 'Content-Encoding': 'gzip' } : {}
  const body = isCompressed ? gzip : text
  return { status: 200, headers: { ...headers, 'Content-Type': type, ...encoding }, body }
}
