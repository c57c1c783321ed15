import * as v from 'valibot'
import type { HtmlPage } from './html-pages.ts'
import { SshUrls } from './ssh-urls.ts'

/**
 * URLs of web pages, which responses have as `html_url` and the pages link to. A template or a function of
 * the host makes them point to the host's own pages.
 */

type Kind = HtmlPage['kind']

/**
 * Paths of Allot's own pages of people and repositories, which are those of Forgejo. The other pages of Allot
 * have no `html_url`, and are not among them.
 */
const ALLOT_PATHS = {
  user: '/{username}',
  organization: '/{org}',
  repository: '/{owner}/{repo}',
  issue: '/{owner}/{repo}/issues/{index}',
  release: '/{owner}/{repo}/releases/tag/{tag}',
  package: '/{owner}/-/packages/{type}/{name}/{version}',
} as const satisfies Partial<Record<Kind, string>>

/** A kind of `html_url` for which Allot has a page of its own. */
export type ServedPage = keyof typeof ALLOT_PATHS
type Parameter<K extends Kind> = Exclude<keyof Extract<HtmlPage, { kind: K }>, 'kind'>

/**
 * A host's own function for `html_url`. It must depend on its argument alone, since responses are cached.
 * @returns a URL that begins with `https://` or `http://`; undefined to use the template of the kind
 */
export type HtmlUrlFunction = (page: HtmlPage) => string | undefined

/** Parameters of each kind of page, which are the placeholders of its template. */
const PARAMETERS: { readonly [K in Kind]: readonly Parameter<K>[] } = {
  user: ['username'],
  organization: ['org'],
  repository: ['owner', 'repo'],
  issue: ['owner', 'repo', 'index'],
  comment: ['owner', 'repo', 'index', 'id'],
  release: ['owner', 'repo', 'tag'],
  ledgerRelease: ['owner', 'repo', 'index'],
  package: ['owner', 'type', 'name', 'version'],
  artifact: ['owner', 'repo', 'run', 'name', 'key'],
}

/** Encodes the names of a path, and keeps its slashes. */
export const encodePath = (path: string): string => path.split('/').map(encodeURIComponent).join('/')

/** A scheme and a host, or a path of the service. */
const BEGINNING = /^(?:https?:\/\/[^/?#@]+(?:[/?#]|$)|\/(?!\/))/

/** @returns what is wrong with a template; undefined when it is valid */
const templateFault = (template: string, parameters: readonly string[]): string | undefined => {
  const known = parameters.map((name) => `{${name}}`)
  const unknown = template.match(/\{[^{}]*\}/g)?.find((placeholder) => !known.includes(placeholder))
  if (unknown !== undefined) return `unknown placeholder ${unknown}, expected one of: ${known.join(', ')}`
  if (/[{}]/.test(template.replace(/\{\w+\}/g, ''))) return '{ and } must enclose the name of a placeholder'
  // Otherwise a name could lead to another host.
  if (/^https?:\/\/[^/?#]*\{/.test(template)) return 'placeholders must come after the host'
  if (/[\s\p{Cc}\\]/u.test(template)) return 'must not contain spaces, control characters or \\'
  if (!BEGINNING.test(template) || !URL.canParse(template.replace(/[{}]/g, ''), 'http://localhost'))
    return 'expected a URL that begins with https:// or http:// and a host, or with / for a path of the service'
  return undefined
}

const templateWith = (parameters: readonly string[]) =>
  v.pipe(
    v.string(),
    v.rawCheck(({ dataset, addIssue }) => {
      const fault = dataset.typed ? templateFault(dataset.value, parameters) : undefined
      if (fault !== undefined) addIssue({ message: fault })
    }),
  )

/** The option `htmlUrls`: the template of each kind of pages, and the path of Allot's own. */
type HtmlUrlTemplates = { readonly [K in Kind | 'pages']?: string | undefined }

/** A template of a kind of pages; one that begins with `/` is relative to the URL of the service. */
export const templateOf = (kind: Kind) => templateWith(PARAMETERS[kind])

/** A host of letters, digits, dots and hyphens, so that it can stand in a Content-Security-Policy. */
export const isUrl = (text: string, schemes: readonly string[]): boolean => {
  if (!URL.canParse(text)) return false
  const { protocol, host, username, password } = new URL(text)
  return schemes.includes(protocol) && username + password === '' && /^[\w.-]+(?::\d+)?$/.test(host)
}

/** The option `avatarUrl`. Its origin is in the Content-Security-Policy of the pages. */
export const AvatarUrl = v.pipe(
  templateWith(['username']),
  v.check(
    (text) => isUrl(text.replaceAll(/[{}]/g, ''), ['https:', 'http:']),
    'expected a URL that begins with https:// or http:// and a host, such as https://people.example.org/{username}.png',
  ),
)

/** The texts of a template, with the name of a parameter between each two. */
type Template = readonly string[]

const KINDS = Object.keys(ALLOT_PATHS) as ServedPage[]

/** @param mounted path of Allot's pages, unless the options name it */
const templatesOf = (
  mounted: string,
  { pages = mounted, ...given }: HtmlUrlTemplates,
): Map<string, Template> => {
  const templates = { ...given }
  for (const kind of KINDS) templates[kind] ??= pages + ALLOT_PATHS[kind]
  const { comment = `${templates.issue}#issuecomment-{id}` } = templates
  return new Map(Object.entries({ ...templates, comment }).map(([kind, text]) => [kind, text!.split(/[{}]/)]))
}

/** Makes the URL of every page from the options of the host. */
export class HtmlUrls {
  readonly #given: HtmlUrlTemplates
  #templates: ReadonlyMap<string, Template>
  #pagesPath = ''
  readonly #custom: HtmlUrlFunction | undefined
  readonly #avatarUrl: string | undefined

  /** The URLs for git over SSH, which are made in the same place. */
  readonly ssh: SshUrls

  /**
   * The kinds of pages that Allot serves itself: the host has neither a function nor a template for them.
   */
  readonly servedPages: ReadonlySet<ServedPage>

  constructor(given: HtmlUrlTemplates, custom?: HtmlUrlFunction, ssh = new SshUrls({}), avatarUrl?: string) {
    this.ssh = ssh
    this.#avatarUrl = avatarUrl
    this.#given = given
    this.#templates = templatesOf('', given)
    this.#custom = custom
    this.servedPages = new Set(custom === undefined ? KINDS.filter((kind) => given[kind] === undefined) : [])
  }

  /** Called with the path of the pages once a listener has one; the option `htmlUrls.pages` overrides it. */
  mountPages(path: string): void {
    this.#pagesPath = path.replace(/\/$/, '')
    this.#templates = templatesOf(this.#pagesPath, this.#given)
  }

  /** Path at which a listener has the pages, without a slash at the end. */
  get pagesPath(): string {
    return this.#pagesPath
  }

  /** @returns the URL of the host's image of an account; undefined when the host has none */
  avatar(name: string): string | undefined {
    return this.#avatarUrl?.replaceAll('{username}', encodeURIComponent(name))
  }

  /** Origin of the host's images of accounts. */
  get avatarOrigin(): string | undefined {
    return this.#avatarUrl && new URL(this.#avatarUrl).origin
  }

  /**
   * @returns the path of Allot's own page below the place where the pages are mounted; undefined when the
   * host has it
   */
  allotPath(page: HtmlPage): string | undefined {
    const path = this.servedPages.has(page.kind as ServedPage)
      ? ALLOT_PATHS[page.kind as ServedPage]
      : undefined
    return path?.replace(/\{(\w+)\}/g, (_whole, name: string) => encoded(page, name) ?? '')
  }

  /**
   * @param baseUrl URL of the service, without a slash at the end
   * @throws Error when the host's function returns something that is not a URL
   */
  of(page: Exclude<HtmlPage, { kind: 'artifact' }>, baseUrl: string): string
  /** @returns undefined when the template needs a parameter, or the URL of the service, that is undefined */
  of(page: HtmlPage, baseUrl: string | undefined): string | undefined
  of(page: HtmlPage, baseUrl: string | undefined): string | undefined {
    const custom = this.#custom?.(page)
    if (custom !== undefined) return checkedUrl(custom, page)
    const parts = this.#templates
      .get(page.kind)!
      .map((part, index) => (index % 2 === 0 ? part : encoded(page, part)))
    if (parts.includes(undefined)) return undefined
    const url = parts.join('')
    if (!url.startsWith('/')) return url
    return baseUrl === undefined ? undefined : baseUrl + url
  }
}

/** Refuses `javascript:` and other URLs that must not be links, and the promise of an async function. */
const checkedUrl = (url: unknown, { kind }: HtmlPage): string => {
  if (typeof url === 'string' && /^https?:\/\/[^\s\p{Cc}]+$/u.test(url)) return url
  throw new TypeError(
    `htmlUrl must return undefined or a URL that begins with https:// or http://, got ${String(url)} for the kind ${kind}`,
  )
}

/**
 * Tags keep their slashes, as in the URLs of Forgejo. `encodeURIComponent` throws for text that is not well
 * formed.
 */
const encoded = (page: HtmlPage, name: string): string | undefined => {
  const value = (page as unknown as Readonly<Record<string, string | number | undefined>>)[name]
  if (value === undefined) return undefined
  const text = String(value).toWellFormed()
  return name === 'tag' ? encodePath(text) : encodeURIComponent(text)
}
