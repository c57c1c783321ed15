import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { AllotError } from '../errors.ts'

/**
 * One cookie tells visitors apart, signed in or not: 32 random bytes that scripts cannot read. Every form that is shown
 * to a visitor carries a token that follows from it, and nobody else can make one. Signing in gives another cookie, so
 * that one that somebody has planted is worth nothing.
 */
export interface BrowserSession {
  readonly secret: string
  /** It is to be told to the browser with the answer. */
  readonly isNew: boolean
}

/** Where a cookie is valid. */
export interface CookieScope {
  isSecure: boolean
  /** Where the pages are, without a slash at the end. */
  mount: string
}

const SECRET = /^[\w-]{43}$/

export const newSecret = (): string => randomBytes(32).toString('base64url')

export const browserSessionOf = (req: IncomingMessage, place: CookieScope): BrowserSession => {
  const held = cookiesIn(req).find(([name, value]) => name === nameOf(place) && SECRET.test(value))
  return held === undefined ? { secret: newSecret(), isNew: true } : { secret: held[1], isNew: false }
}

/**
 * `SameSite=Lax` and not `Strict`: a link to a page from a mail or a chat is then followed as who one is signed in as.
 * It opens nothing, for a GET changes nothing, and what changes something needs the form's token besides.
 * @param seconds undefined: until the browser is closed
 */
export const sessionCookie = (place: CookieScope, secret: string, seconds?: number): string =>
  [
    `${nameOf(place)}=${secret}`,
    // `__Host-` is taken for the whole host only, and a browser that takes it takes it from nobody else.
    `Path=${place.isSecure ? '/' : place.mount || '/'}`,
    'HttpOnly',
    'SameSite=Lax',
    ...(place.isSecure ? ['Secure'] : []),
    ...(seconds === undefined ? [] : [`Max-Age=${seconds}`]),
  ].join('; ')

const nameOf = ({ isSecure }: CookieScope): string => (isSecure ? '__Host-allot' : 'allot')

const cookiesIn = ({ headers: { cookie = '' } }: IncomingMessage): [name: string, value: string][] =>
  cookie.split(';').map((one) => {
    const [name = '', ...value] = one.trim().split('=')
    return [name, value.join('=')]
  })

export const csrfToken = (secret: string): string =>
  createHmac('sha256', secret).update('form').digest('base64url')

/**
 * Refuses what another site has sent, or a form that was not shown to this visitor.
 * @param origin where the pages are, as the visitor's browser sees it
 * @throws AllotError forbidden
 */
export const checkCsrf = (req: IncomingMessage, secret: string, token: string, origin: string): void => {
  const [given, right] = [Buffer.from(token), Buffer.from(csrfToken(secret))]
  if (isFromElsewhere(req, origin)) throw new AllotError('forbidden', 'this form was sent by another site')
  if (given.length !== right.length || !timingSafeEqual(given, right))
    throw new AllotError(
      'forbidden',
      'this form has expired, or cookies are off: go back, reload the page and send it again',
    )
}

/** Browsers say where a form comes from; what says nothing is no browser of today, and has the token to show. */
const isFromElsewhere = ({ headers }: IncomingMessage, origin: string): boolean => {
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site !== 'same-origin'
  return headers.origin !== undefined && hostOf(headers.origin) !== hostOf(origin)
}

/** Of an origin; a proxy that ends TLS has another scheme on either side. */
const hostOf = (origin: string): string | undefined =>
  URL.canParse(origin) ? new URL(origin).host : undefined
