/** What is to be rendered, and for where. */
export interface MarkdownInput {
  text: string
  /** `gfm`, `comment` and `wiki`; any other word, none included, means plain CommonMark. */
  mode: string
  /** Where relative links, `@names` and `#numbers` lead, as a path such as `/alice/demo` or a URL. */
  context: string
  /** Whether relative links lead to the wiki of the context. */
  wiki: boolean
  /** Where the service is, without a slash at the end. */
  baseUrl: string
  /** Lower-case names of accounts that the viewer may see: only these are mentioned by `@name`. */
  people: readonly string[]
}

const EXTENDED: ReadonlySet<string> = new Set(['gfm', 'comment', 'wiki'])

/** Whether a mode has more than CommonMark. */
export const isExtended = (mode: string): boolean => EXTENDED.has(mode)

export interface Links {
  /** A relative link or image, below the context; anything else as it is. Undefined where a browser must not follow it. */
  resolve(href: string, kind: 'link' | 'image'): string | undefined
}

/** Where the references of a text lead. */
export interface References extends Links {
  /** Undefined for a name that is not an account's which the viewer may see. */
  mention(name: string): string | undefined
  /** An issue of the context's repository; undefined where a number alone means nothing. */
  issue(number: string): string | undefined
  /** Below a repository, such as `issues/7`. */
  inRepository(owner: string, repository: string, path: string): string
}

/** What has no colon has no scheme. Narrower than what the sanitiser allows: whatever looks odd is left to it. */
export const ADDRESSES = {
  link: /^(?:(?:https?:\/\/|mailto:)[^\0- ]*|[^:\0- ]*)$/i,
  image: /^(?:https?:\/\/[^\0- ]*|[^:\0- ]*)$/i,
} as const

/** Without a context links stay as they are. */
export const linksAsWritten: Links = { resolve: (href) => href }

/** Plain CommonMark: a context that is a path stays one, as in Forgejo. */
export const plainLinks = ({ context }: MarkdownInput): Links => {
  const base = context.length > LONGEST_CONTEXT ? '' : context.trim()
  if (base === '') return linksAsWritten
  return { resolve: (href) => (isRelative(href) ? joined(base, href) : href) }
}

export const linksOf = (input: MarkdownInput): References => {
  const { baseUrl, wiki, mode, people } = input
  const context = contextOf(input)
  const inWiki = wiki || mode === 'wiki'
  const known = new Set(people)
  const root = context && repositoryIn(context, baseUrl)
  return {
    resolve(href, kind) {
      if (context === undefined || !isRelative(href)) return href
      return joined(inWiki ? `${context}/wiki${kind === 'image' ? '/raw' : ''}` : context, href)
    },
    mention: (name) => (known.has(name.toLowerCase()) ? `${baseUrl}/${name}` : undefined),
    // In a document a number alone is a number; in a comment it is an issue.
    issue: (number) =>
      root === undefined || !(inWiki || mode === 'comment') ? undefined : `${root}/issues/${number}`,
    inRepository: (owner, repository, path) => `${baseUrl}/${owner}/${repository}/${path}`,
  }
}

/** Characters of a context that is followed: each reference repeats it, and a longer one would swell the answer. */
const LONGEST_CONTEXT = 2048

/** The context as a URL without a slash at the end, undefined without one. `javascript:x` is one that leads nowhere. */
const contextOf = ({ context, baseUrl }: MarkdownInput): string | undefined => {
  if (context.length > LONGEST_CONTEXT) return undefined
  const path = context.trim().replace(/(?<!\/)\/+$/, '')
  if (path === '' || !URL.canParse(path, `${baseUrl}/`)) return undefined
  const { origin, pathname, protocol } = new URL(path, `${baseUrl}/`)
  return isWeb(protocol) ? `${origin}${pathname}`.replace(/\/$/, '') : path
}

/** The repository that a context is in: `/alice/demo/src/branch/main` is in `/alice/demo`. */
const repositoryIn = (context: string, baseUrl: string): string | undefined => {
  const [, owner, name] = context.startsWith(`${baseUrl}/`) ? context.slice(baseUrl.length).split('/') : []
  if (owner !== undefined) return name === undefined ? undefined : `${baseUrl}/${owner}/${name}`
  return URL.canParse(context) && isWeb(new URL(context).protocol) ? context : undefined
}

const isWeb = (protocol: string) => protocol === 'http:' || protocol === 'https:'

/** Stands for the unknown place of a base that is a path. */
const SOMEWHERE = 'http://somewhere.invalid'

/** A relative link below a base; where the base is a path, the result is one, relative where the base is. */
const joined = (base: string, href: string): string | undefined => {
  const folder = base.endsWith('/') ? base : `${base}/`
  const isUrl = /^[a-z][a-z\d+.-]*:/i.test(base)
  const root = isUrl ? folder : `${SOMEWHERE}/`
  if (!URL.canParse(folder, root) || !URL.canParse(href, new URL(folder, root).href)) return undefined
  const url = new URL(href, new URL(folder, root))
  if (!isWeb(url.protocol)) return undefined
  if (isUrl) return url.href
  const path = base.startsWith('/') ? url.href.slice(SOMEWHERE.length) : url.href.slice(SOMEWHERE.length + 1)
  // A colon in the first segment would turn the path into a scheme, and two slashes into a host.
  return url.origin === SOMEWHERE && !/^(?:[^/?#]*:|\/\/)/.test(path) ? path : undefined
}

const isRelative = (href: string): boolean =>
  href !== '' && !/^(?:[a-z][a-z\d+.-]*:|\/\/|#)/i.test(href.trim())
