/** The browser of a request, by the short name that its user knows it by. */
import type { SessionBrowser } from '../../accounts/sessions.ts'
import type { PageRequest } from './route.ts'

export const browserOf = ({ req, address, secret }: PageRequest): SessionBrowser => ({
  name: browserNameOf(req.headers['user-agent']),
  address,
  secret,
})

type Names = readonly (readonly [name: string, token: RegExp])[]

/** Browsers also name those that they resemble: Edge names Chrome and Safari, so the order matters. */
const BROWSERS: Names = [
  ['Edge', /\bEdg(?:e|A|iOS)?\//],
  ['Opera', /\b(?:OPR|OPT|Opera)\//],
  ['Samsung Internet', /\bSamsungBrowser\//],
  ['Vivaldi', /\bVivaldi\//],
  ['Firefox', /\b(?:Firefox|FxiOS)\//],
  ['Chromium', /\bChromium\//],
  ['Chrome', /\b(?:HeadlessChrome|Chrome|CriOS)\//],
  ['Safari', /\bVersion\/.* Safari\//],
]

/** Android names Linux, and phones of Apple name Mac OS X. */
const SYSTEMS: Names = [
  ['iOS', /\b(?:iPhone|iPod)\b/],
  ['iPadOS', /\biPad\b/],
  ['Android', /\bAndroid\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['Windows', /\bWindows\b/],
  ['macOS', /\b(?:Macintosh|Mac OS X)\b/],
  ['FreeBSD', /\bFreeBSD\b/],
  ['OpenBSD', /\bOpenBSD\b/],
  ['Linux', /\bLinux\b/],
]

/** Longest header that is looked at. */
const MAX_HEADER = 1000

/**
 * @param userAgent the header `User-Agent`
 * @returns such as `Firefox on Linux`; of other programs the first word, such as `curl`; undefined when
 * neither is known
 */
export const browserNameOf = (userAgent = ''): string | undefined => {
  const text = userAgent.slice(0, MAX_HEADER)
  const named = (names: Names) => names.find(([, token]) => token.test(text))?.[0]
  const [, program = ''] = /^([A-Za-z][\w.-]{0,39})(?:[/ ]|$)/.exec(text) ?? []
  const browser = named(BROWSERS) ?? (program === 'Mozilla' ? '' : program)
  const system = named(SYSTEMS)
  if (browser === '') return system && `A browser on ${system}`
  return system === undefined ? browser : `${browser} on ${system}`
}
