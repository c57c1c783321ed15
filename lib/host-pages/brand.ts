import * as v from 'valibot'

/**
 * The brand of the host on the web pages: options of the section `pages`. Invariant: no value can bring in
 * markup, CSS rules or directives of the Content-Security-Policy.
 */

const COLOR_PART = '(?:[+-]?(?:\\d+|\\d*\\.\\d+)(?:%|deg|rad|grad|turn)?|none)'
const COLOR = new RegExp(
  `^(?:#(?:[\\da-f]{3,4}|[\\da-f]{6}|[\\da-f]{8})|(?:rgba?|hsla?|hwb|lab|lch|oklab|oklch)\\( *${COLOR_PART}(?:[ ,/]+${COLOR_PART}){2,3} *\\))$`,
  'i',
)
const LENGTH = /^(?:0|(?:\d+|\d*\.\d+)(?:px|rem|em|ch|vw|%))$/
const FONT_NAME = `(?:-?[\\p{L}_][\\p{L}\\p{N}_ -]*|"[\\p{L}\\p{N}_. -]+"|'[\\p{L}\\p{N}_. -]+')`
const FONTS = new RegExp(`^${FONT_NAME}(?:, *${FONT_NAME})*$`, 'u')

const Value = v.pipe(v.string(), v.maxLength(300, 'expected at most 300 characters'))
const Color = v.pipe(
  Value,
  v.regex(COLOR, 'expected a color such as #0b57b8, rgb(11 87 184) or oklch(47% 0.17 257)'),
)
const Length = v.pipe(Value, v.regex(LENGTH, 'expected a length such as 4px or 56rem'))
const Fonts = v.pipe(Value, v.regex(FONTS, 'expected names of fonts such as "Source Sans 3", sans-serif'))

/** @param dark default in dark mode; that of light mode when absent */
const variable = (schema: v.GenericSchema<string>, description: string, light: string, dark?: string) =>
  v.pipe(
    v.optional(schema),
    v.description(description),
    v.metadata<string | undefined, { light: string; dark: string | undefined }>({ light, dark }),
  )

/** The CSS variables of the pages. `overBackground` is `--over-background` in the style sheet. */
export const PageVariables = v.strictObject({
  background: variable(Color, 'Background of the page.', '#f6f7f9', '#0d1015'),
  card: variable(Color, 'Background of cards, tables and fields.', '#ffffff', '#161a21'),
  surface: variable(
    Color,
    'Background of code, of tabs and of rows under the pointer.',
    '#f2f4f7',
    '#1f252e',
  ),
  border: variable(Color, 'Lines around cards and between rows.', '#e2e5eb', '#2a313c'),
  field: variable(Color, 'Borders of fields.', '#858d9d', '#697486'),
  text: variable(Color, 'Text.', '#151a24', '#e9edf3'),
  muted: variable(Color, 'Text of less weight.', '#566073', '#9aa5b6'),
  link: variable(Color, 'Links, buttons and the focus.', '#1a56cf', '#8ab4ff'),
  buttonText: variable(Color, 'Text of buttons.', '#ffffff', '#0b1428'),
  header: variable(Color, 'Background of the header.', 'var(--card)'),
  headerText: variable(Color, 'The name in the header.', 'var(--text)'),
  headerLink: variable(Color, 'Links and buttons in the header.', 'var(--text)'),
  over: variable(Color, 'Text about what is over quota, and buttons that delete.', '#b42318', '#ff9d94'),
  overBackground: variable(Color, 'Background of notices that something is over.', '#fef1f0', '#331a1b'),
  near: variable(Color, 'Text about what is near its limit.', '#874508', '#f5c469'),
  nearBackground: variable(Color, 'Background of notices that something is near.', '#fff7e6', '#2f2410'),
  success: variable(Color, 'Text about what is within its limit.', '#08663c', '#76dba8'),
  successBackground: variable(Color, 'Background of notices of success.', '#eaf8f0', '#11291d'),
  track: variable(Color, 'The empty part of a bar.', '#e7eaef', '#2a313c'),
  limit: variable(Color, 'The mark of the limit in a bar or a chart.', '#b42318', '#ff9d94'),
  part0: variable(Color, 'Public repositories in bars and charts.', '#2a66dd', '#7fadfb'),
  part1: variable(Color, 'Private repositories.', '#7352d9', '#b3a1f8'),
  part2: variable(Color, 'Git LFS.', '#0b877a', '#57cdbf'),
  part3: variable(Color, 'Attachments.', '#c8620a', '#f5ae55'),
  part4: variable(Color, 'Artifacts.', '#c42c80', '#f590c4'),
  part5: variable(Color, 'Packages.', '#64708a', '#a3aec2'),
  font: variable(
    Fonts,
    'Fonts that the system of the user has; the pages load none.',
    'Inter, system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif',
  ),
  radius: variable(Length, 'Rounding of buttons and fields; cards have half as much again.', '8px'),
  space: variable(Length, 'Unit of the space between and inside parts.', '0.25rem'),
  width: variable(Length, 'Maximum width of the content.', '72rem'),
  logoHeight: variable(Length, 'Height of the logo.', '1.75rem'),
})
export type PageVariables = v.InferOutput<typeof PageVariables>

/** Default values of all variables, by name. */
export const variableDefaults = Object.entries(PageVariables.entries).map(([name, schema]) => ({
  name,
  description: v.getDescription(schema) ?? '',
  ...v.getMetadata(schema),
}))

const isPath = (text: string): boolean => /^\/(?!\/)/.test(text)

/** A host of letters, digits, dots and hyphens, so that it can stand in a Content-Security-Policy. */
const isUrl = (text: string, schemes: readonly string[]): boolean => {
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
  variables: v.pipe(
    v.optional(PageVariables, {}),
    v.description(
      'Values of the CSS variables of the pages, which `docs/configuration.md` lists. A variable that has a default for dark mode keeps it there.',
    ),
  ),
  darkVariables: v.pipe(
    v.optional(PageVariables, {}),
    v.description('Values of the same variables for dark mode.'),
  ),
})
export type Brand = v.InferOutput<typeof BrandOptions>

/** Origin of the logo, when it is a URL; undefined when the logo has the origin of the pages. */
export const logoOrigin = ({ logo }: Pick<Brand, 'logo'>): string | undefined =>
  logo === undefined || isPath(logo) ? undefined : new URL(logo).origin
