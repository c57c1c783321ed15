import * as v from 'valibot'

/**
 * The brand of the host on the web pages: options of the section `pages`. Invariant: no value can bring in
 * markup or directives of the Content-Security-Policy.
 */

const isPath = (text: string): boolean => /^\/(?!\/)/.test(text)

/** A host of letters, digits, dots and hyphens, so that it can stand in a Content-Security-Policy. */
export const isUrl = (text: string, schemes: readonly string[]): boolean => {
  if (!URL.canParse(text)) return false
  const { protocol, host, username, password } = new URL(text)
  return schemes.includes(protocol) && username + password === '' && /^[\w.-]+(?::\d+)?$/.test(host)
}

/** A path of the origin of the pages, or a URL with one of the schemes. */
const address = (schemes: readonly string[], message: string) =>
  v.pipe(
    v.string(),
    v.maxLength(2000, 'expected at most 2000 characters'),
    v.check((text) => !/[\s\p{Cc}\\]/u.test(text) && (isPath(text) || isUrl(text, schemes)), message),
  )

const Name = v.pipe(
  v.string(),
  v.maxLength(100, 'expected at most 100 characters'),
  v.regex(/^(?=.*\S)[^\p{Cc}\u2028\u2029]*$/u, 'expected text of one line'),
)

const TO = '{to}'

/** @param example value of the option that would be right */
const ownPage = (example: string) =>
  v.pipe(
    address(
      ['https:', 'http:'],
      `expected a path such as ${example}, or a URL that begins with https:// or http:// and a host`,
    ),
    v.check(
      (text) => text.includes(TO) && !/[{}]/.test(text.replaceAll(TO, '')),
      `expected ${TO}, and no other placeholder, in place of the page to come back to, such as ${example}`,
    ),
  )

/**
 * The address of a page of the host, with the page to come back to.
 * @param template value of `loginUrl` or `logoutUrl`
 * @param path path of that page, with its mount point
 */
export const withWayBack = (template: string, origin: string, path: string): string =>
  template.replaceAll(TO, encodeURIComponent(isPath(template) ? path : origin + path))

export const BrandOptions = v.strictObject({
  name: v.pipe(
    v.optional(Name, 'Allot'),
    v.description('Name of the service, in the header and in the title of each page.'),
  ),
  logo: v.pipe(
    v.optional(
      address(['https:'], 'expected a path such as /logo.svg, or a URL that begins with https:// and a host'),
    ),
    v.description(
      'Image in place of the name in the header, and icon of the pages: a path of their origin, or a URL that begins with `https://`.',
    ),
  ),
  backUrl: v.pipe(
    v.optional(
      address(
        ['https:', 'http:'],
        'expected a path such as /home, or a URL that begins with https:// or http:// and a host',
      ),
    ),
    v.description('Path or URL of the link in the header that leads back to your site; no link when absent.'),
  ),
  backText: v.pipe(v.optional(Name, 'Back'), v.description('Text of that link.')),
  loginUrl: v.pipe(
    v.optional(ownPage(`/login?next=${TO}`)),
    v.description(
      'Path or URL of your page to sign in, with `authenticate`, such as `/login?next={to}`. Pages that need a user lead there, with the page to come back to in place of `{to}`, which the value must have: its path, or its URL when the value is a URL.',
    ),
  ),
  logoutUrl: v.pipe(
    v.optional(ownPage(`/logout?next=${TO}`)),
    v.description('The same for the link to sign out, such as `/logout?next={to}`.'),
  ),
  css: v.pipe(
    v.optional(v.pipe(v.string(), v.maxLength(65_536, 'expected at most 65536 characters')), ''),
    v.description(
      'CSS that follows the style sheet of the pages in the same file, such as values of the variables that `docs/configuration.md` lists.',
    ),
  ),
})
export type Brand = v.InferOutput<typeof BrandOptions>

/** Origin of the logo, when it is a URL; undefined when the logo has the origin of the pages. */
export const logoOrigin = ({ logo }: Pick<Brand, 'logo'>): string | undefined =>
  logo === undefined || isPath(logo) ? undefined : new URL(logo).origin
