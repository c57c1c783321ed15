/** Shared by the renderers: their input, the targets of links, and the HTML of ids, alerts and images. */

/** Escapes text for HTML, also within a quoted attribute. */
export const escapeHtml = (text: string): string =>
  text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;')

/** Links must not endorse their target for search engines. */
export const NO_FOLLOW = 'nofollow'
/** `rel` of links that open a new window, which must not get access to the page. */
export const NO_OPENER = 'nofollow noopener'

/** Prefix of every id, so that no id of a text can collide with one of the page that shows it. */
export const ID_PREFIX = 'user-content-'

export const prefixedId = (id: string): string => (id.startsWith(ID_PREFIX) ? id : `${ID_PREFIX}${id}`)

/**
 * Makes the ids of one text's headings from their source, like Forgejo: `Über *uns*` gets
 * `user-content-über-uns`, and a second heading with the same words the suffix `-1`.
 * @returns a function whose results are distinct
 */
export const createHeadingIds = () => {
  const used = new Set<string>()
  /** The next suffix to try for an id: a thousand equal headings take a thousand tries, not a million. */
  const suffixes = new Map<string, number>()
  return (source: string): string => {
    const words = source.match(/[\p{L}\p{N}_]+/gu)?.join('-') ?? 'heading'
    const base = prefixedId(words.toLowerCase())
    let id = base
    let suffix = suffixes.get(base) ?? 1
    while (used.has(id)) id = `${base}-${suffix++}`
    suffixes.set(base, suffix)
    used.add(id)
    return id
  }
}

const ALERTS = ['note', 'tip', 'important', 'warning', 'caution'] as const
export type Alert = (typeof ALERTS)[number]

/** The first line of a block quote that is an alert: `> [!NOTE]`. */
const ALERT_LINE = /^\[!(note|tip|important|warning|caution)\][ \t]*(?:\n|$)/i

/** @returns the kind of alert that a block quote with this text is, and the length of its first line */
export const alertOf = (text: string): { alert: Alert; length: number } | undefined => {
  const [line, kind] = ALERT_LINE.exec(text) ?? []
  return line === undefined ? undefined : { alert: kind!.toLowerCase() as Alert, length: line.length }
}

export const alertClass = (alert: Alert): string => `attention-header attention-${alert}`

export const alertTitle = (alert: Alert): string => {
  const title = alert[0]!.toUpperCase() + alert.slice(1)
  return `<p class="attention-title" dir="auto"><strong class="attention-${alert}">${title}</strong></p>`
}

export const ALERT_CLASSES = ALERTS.map((alert) => `attention-${alert}`)

/**
 * The tags around the alternative text of an image. An image outside a link links to itself.
 * @param src undefined when the image must not be loaded
 */
export const imageTags = (
  src: string | undefined,
  title: string,
  isInLink: boolean,
): { opening: string; closing: string } => {
  const titleAttribute = title === '' ? '' : ` title="${escapeHtml(title)}"`
  const srcAttribute = src === undefined ? '' : `src="${escapeHtml(src)}" `
  const opening = `<img ${srcAttribute}alt="`
  const closing = `"${titleAttribute}${isInLink ? '' : ' loading="lazy"'} />`
  if (isInLink || src === undefined || !ADDRESSES.image.test(src)) return { opening, closing }
  const link = `<a href="${escapeHtml(src)}"${titleAttribute} target="_blank" rel="${NO_OPENER}">`
  return { opening: link + opening, closing: `${closing}</a>` }
}

/** A text to render, and how. */
export interface MarkdownInput {
  text: string
  /** `gfm`, `comment` or `wiki`; every other value means CommonMark. */
  mode: string
  /** Base of relative links, `@names` and `#numbers`: a path such as `/alice/demo`, or a URL. */
  context: string
  /** Path of what addresses that begin with one slash refer to; the root of the host when undefined. */
  root?: string | undefined
  /** Whether relative links refer to the wiki of the context. */
  wiki: boolean
  /** URL of the service, without a trailing slash. */
  baseUrl: string
  /** Lower-case names of accounts that the viewer may see: only these are linked as `@name`. */
  people: readonly string[]
}

const EXTENDED_MODES: ReadonlySet<string> = new Set(['gfm', 'comment', 'wiki'])

/** Whether a mode is more than CommonMark. */
export const isExtended = (mode: string): boolean => EXTENDED_MODES.has(mode)

export interface Links {
  /**
   * Resolves a relative link or image against the context; returns other addresses unchanged. Undefined when
   * a browser must not follow it.
   */
  resolve(href: string, kind: 'link' | 'image'): string | undefined
}

/** Links, and the targets of references in a text. */
export interface References extends Links {
  /** Undefined for a name that is not of an account the viewer may see. */
  mention(name: string): string | undefined
  /** An issue in the repository of the context; undefined when numbers are not references. */
  issue(number: string): string | undefined
  /** @param path such as `issues/7` */
  inRepository(owner: string, repository: string, path: string): string
}

/** Ordinary addresses. Stricter than the sanitizer, which decides about all others. */
export const ADDRESSES = {
  link: /^(?:(?:https?:\/\/|mailto:)[^\0- ]*|[^:\0- ]*)$/i,
  image: /^(?:https?:\/\/[^\0- ]*|[^:\0- ]*)$/i,
} as const

export const linksAsWritten: Links = { resolve: (href) => href }

/** The target of a link; a link within the text gets the prefix of ids. */
export const linkTarget = (href: string, links: Links): string | undefined =>
  /^#./.test(href) ? `#${prefixedId(href.slice(1))}` : links.resolve(href, 'link')

/** Links of plain CommonMark. As in Forgejo, they stay paths when the context is a path. */
export const plainLinks = ({ context }: MarkdownInput): Links => {
  const base = context.length > MAX_CONTEXT_LENGTH ? '' : context.trim()
  if (base === '') return linksAsWritten
  return { resolve: (href) => (isRelative(href) ? join(base, href) : href) }
}

export const referencesOf = (input: MarkdownInput): References => {
  const { baseUrl, wiki, mode, people, root } = input
  const context = contextUrl(input)
  const inWiki = wiki || mode === 'wiki'
  const known = new Set(people)
  const repository = context && repositoryUrl(context, baseUrl)
  return {
    resolve(href, kind) {
      if (context === undefined || !isRelative(href)) return href
      if (root !== undefined && href.startsWith('/')) return join(`${baseUrl}${root}`, `.${href}`)
      return join(inWiki ? `${context}/wiki${kind === 'image' ? '/raw' : ''}` : context, href)
    },
    mention: (name) => (known.has(name.toLowerCase()) ? `${baseUrl}/${name}` : undefined),
    // In a document `#7` is a number, in a comment it is an issue.
    issue: (number) =>
      repository !== undefined && (inWiki || mode === 'comment')
        ? `${repository}/issues/${number}`
        : undefined,
    inRepository: (owner, repository, path) => `${baseUrl}/${owner}/${repository}/${path}`,
  }
}

/** Longer contexts are ignored: every link repeats the context in the output. */
const MAX_CONTEXT_LENGTH = 2048

/** The context as a URL without a trailing slash. Other schemes, such as `javascript:`, stay as written. */
const contextUrl = ({ context, baseUrl }: MarkdownInput): string | undefined => {
  if (context.length > MAX_CONTEXT_LENGTH) return undefined
  const path = context.trim().replace(/(?<!\/)\/+$/, '')
  if (path === '' || !URL.canParse(path, `${baseUrl}/`)) return undefined
  const { origin, pathname, protocol } = new URL(path, `${baseUrl}/`)
  return isWeb(protocol) ? `${origin}${pathname}`.replace(/\/$/, '') : path
}

/** The repository of a context: `/alice/demo` for `/alice/demo/src/branch/main`. */
const repositoryUrl = (context: string, baseUrl: string): string | undefined => {
  const [, owner, name] = context.startsWith(`${baseUrl}/`) ? context.slice(baseUrl.length).split('/') : []
  if (owner !== undefined) return name === undefined ? undefined : `${baseUrl}/${owner}/${name}`
  return URL.canParse(context) && isWeb(new URL(context).protocol) ? context : undefined
}

const isWeb = (protocol: string) => protocol === 'http:' || protocol === 'https:'

/** Stands for the unknown origin of a base that is a path. */
const UNKNOWN_ORIGIN = 'http://somewhere.invalid'

/** A relative link below a base. The result is a URL, an absolute or a relative path, as the base is. */
const join = (base: string, href: string): string | undefined => {
  const folder = base.endsWith('/') ? base : `${base}/`
  const isUrl = /^[a-z][a-z\d+.-]*:/i.test(base)
  const root = isUrl ? folder : `${UNKNOWN_ORIGIN}/`
  if (!URL.canParse(folder, root) || !URL.canParse(href, new URL(folder, root).href)) return undefined
  const url = new URL(href, new URL(folder, root))
  if (!isWeb(url.protocol)) return undefined
  if (isUrl) return url.href
  const path = url.href.slice(UNKNOWN_ORIGIN.length + (base.startsWith('/') ? 0 : 1))
  // A colon in the first segment would make the path a scheme, and two slashes would make it a host.
  return url.origin === UNKNOWN_ORIGIN && !/^(?:[^/?#]*:|\/\/)/.test(path) ? path : undefined
}

const isRelative = (href: string): boolean =>
  href !== '' && !/^(?:[a-z][a-z\d+.-]*:|\/\/|#)/i.test(href.trim())
