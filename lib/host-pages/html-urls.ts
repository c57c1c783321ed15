import * as v from 'valibot'
import { CacheConstant } from '../caches.ts'
import { SshUrls } from './ssh-urls.ts'

/**
 * URLs of web pages, which responses have as `html_url` and the pages link to. A template or a function of the host makes
 * them point to the host's own pages.
 */

interface OfKind<K extends string> {
  /** Kind of the resource that the page shows. */
  readonly kind: K
}

interface HtmlPageInRepository {
  /** Name of the user or the organization. */
  readonly owner: string
  /** Name of the repository. */
  readonly repo: string
}

interface HtmlUserPage extends OfKind<'user'> {
  /** Name of the user. */
  readonly username: string
}

interface HtmlOrganizationPage extends OfKind<'organization'> {
  /** Name of the organization. */
  readonly org: string
}

interface HtmlIssuePage extends HtmlPageInRepository, OfKind<'issue'> {
  /** Number of the issue. */
  readonly index: number
}

interface HtmlCommentPage extends HtmlPageInRepository, OfKind<'comment'> {
  /** Number of the issue. */
  readonly index: number
  /** Id of the comment. */
  readonly id: number
}

interface HtmlReleasePage extends HtmlPageInRepository, OfKind<'release'> {
  /** Tag of the release. */
  readonly tag: string
}

/** A release that an attachment in the ledger belongs to. */
interface HtmlLedgerReleasePage extends HtmlPageInRepository, OfKind<'ledgerRelease'> {
  /** The number that the host has given to the release. */
  readonly index: number
}

interface HtmlPackagePage extends OfKind<'package'> {
  /** Name of the user or the organization. */
  readonly owner: string
  /** Type of the package. */
  readonly type: string
  /** Name of the package. */
  readonly name: string
  /** Version of the package. */
  readonly version: string
}

interface HtmlArtifactPage extends OfKind<'artifact'> {
  /** Name of the user or the organization. */
  readonly owner: string
  /** Undefined when the artifact belongs to an owner without a repository. */
  readonly repo: string | undefined
  /** Number of the CI run; 0 when the entry has none. */
  readonly run: number
  /** Name of the artifact. */
  readonly name: string
  /** Key of the entry in the ledger. */
  readonly key: string
}

/** A page that an `html_url` points to. The parameters have the names that templates use. */
export type HtmlPage =
  | HtmlUserPage
  | HtmlOrganizationPage
  | (HtmlPageInRepository & OfKind<'repository'>)
  | HtmlIssuePage
  | HtmlCommentPage
  | HtmlReleasePage
  | HtmlLedgerReleasePage
  | HtmlPackagePage
  | HtmlArtifactPage

/** The page of a user or an organization. */
export const accountPage = ({
  kind,
  name,
}: {
  readonly kind: 'user' | 'organization'
  readonly name: string
}): HtmlUserPage | HtmlOrganizationPage =>
  kind === 'organization' ? { kind, org: name } : { kind, username: name }

type Kind = HtmlPage['kind']

/**
 * Paths of Allot's own pages of people and repositories, which are those of Forgejo. The other pages of Allot have no `html_url`, and
 * are not among them.
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

const templateOf = (kind: Kind) =>
  v.pipe(
    v.string(),
    v.rawCheck(({ dataset, addIssue }) => {
      const fault = dataset.typed ? templateFault(dataset.value, PARAMETERS[kind]) : undefined
      if (fault !== undefined) addIssue({ message: fault })
    }),
  )

const describedTemplate = <S extends v.GenericSchema>(kind: Kind, schema: S, page: string, more = '') => {
  const placeholders = PARAMETERS[kind].map((name) => `\`{${name}}\``).join(', ')
  return v.pipe(schema, v.description(`URL of the page of ${page}; placeholders: ${placeholders}.${more}`))
}

/** @param fallback path of Allot's own page, or of Forgejo's for a page that Allot does not have */
const template = (kind: Kind, page: string, fallback: string) =>
  describedTemplate(kind, v.optional(templateOf(kind), fallback), page)

/** The option `htmlUrls`. A template that begins with `/` is relative to the URL of the service. */
export const HtmlUrlOptions = v.strictObject({
  user: template('user', 'a user', ALLOT_PATHS.user),
  organization: template('organization', 'an organization', ALLOT_PATHS.organization),
  repository: template('repository', 'a repository', ALLOT_PATHS.repository),
  issue: template('issue', 'an issue', ALLOT_PATHS.issue),
  comment: describedTemplate(
    'comment',
    v.optional(templateOf('comment')),
    'a comment',
    ' That of the issue with `#issuecomment-{id}` when absent.',
  ),
  release: template('release', 'a release', ALLOT_PATHS.release),
  ledgerRelease: template(
    'ledgerRelease',
    'a release that is known only from an attachment in the ledger',
    '/{owner}/{repo}/releases/{index}',
  ),
  package: template('package', 'a version of a package', ALLOT_PATHS.package),
  artifact: template('artifact', 'an artifact', '/{owner}/{repo}/actions/runs/{run}'),
} satisfies Record<Kind, v.GenericSchema>)
type HtmlUrlOptions = v.InferOutput<typeof HtmlUrlOptions>

/** The texts of a template, with the name of a parameter between each two. */
type Template = readonly string[]

/** Makes the URL of every page from the options of the host. */
export class HtmlUrls extends CacheConstant {
  readonly #templates: ReadonlyMap<string, Template>
  readonly #custom: HtmlUrlFunction | undefined

  /** The URLs for git over SSH, which are made in the same place. */
  readonly ssh: SshUrls

  /** The kinds of pages that Allot serves itself: the host has neither a function nor another path for them. */
  readonly servedPages: ReadonlySet<ServedPage>

  constructor(options: HtmlUrlOptions, custom?: HtmlUrlFunction, ssh = new SshUrls({})) {
    super()
    this.ssh = ssh
    const { comment = `${options.issue}#issuecomment-{id}` } = options
    this.#templates = new Map(
      Object.entries({ ...options, comment }).map(([kind, text]) => [kind, text.split(/[{}]/)]),
    )
    this.#custom = custom
    const kinds = Object.keys(ALLOT_PATHS) as ServedPage[]
    this.servedPages = new Set(
      custom === undefined ? kinds.filter((kind) => isAllotPath(options[kind], kind)) : [],
    )
  }

  /** @returns the path of Allot's own page below the place where the pages are mounted; undefined when the host has it */
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

/** Whether a template leads to a page of Allot, wherever the pages are mounted. */
const isAllotPath = (template: string, kind: ServedPage): boolean =>
  template.startsWith('/') && template.endsWith(ALLOT_PATHS[kind])

/** Refuses `javascript:` and other URLs that must not be links, and the promise of an async function. */
const checkedUrl = (url: unknown, { kind }: HtmlPage): string => {
  if (typeof url === 'string' && /^https?:\/\/[^\s\p{Cc}]+$/u.test(url)) return url
  throw new TypeError(
    `htmlUrl must return undefined or a URL that begins with https:// or http://, got ${String(url)} for the kind ${kind}`,
  )
}

/** Tags keep their slashes, as in the URLs of Forgejo. `encodeURIComponent` throws for text that is not well formed. */
const encoded = (page: HtmlPage, name: string): string | undefined => {
  const value = (page as unknown as Readonly<Record<string, string | number | undefined>>)[name]
  if (value === undefined) return undefined
  const text = String(value).toWellFormed()
  return name === 'tag' ? encodePath(text) : encodeURIComponent(text)
}
