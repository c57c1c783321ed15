/** Shared by the pages of a repository: the check of read access, addresses, the head and the tabs. */
import type { ComponentChildren, RenderableProps } from 'preact'
import { canRead, type Identity, permissionOn, type RepositoryPart } from '../../accounts/access.ts'
import { readableRepository } from '../../accounts/find.ts'
import { type RepositoryDetails, repositoryDetails } from '../../content/details.ts'
import { countReleases } from '../../content/releases.ts'
import { AllotError } from '../../errors.ts'
import type { ServedPage } from '../../host-pages/html-urls.ts'
import { encodePath } from '../../host-pages/html-urls.ts'
import { NameLink, StrongLink, usePageContext } from '../parts/components.tsx'
import { Icon } from '../parts/inline.tsx'
import { type PageRequest, type PageServices, pagesAbout, type View } from '../parts/route.ts'
import { RepositoryTags } from '../people/account-parts.tsx'

/** A repository as its pages show it to a viewer. */
export interface RepositoryView extends RepositoryDetails {
  /** `/owner/name`, which the paths of all its pages begin with. */
  readonly path: string
  readonly name: { readonly owner: string; readonly name: string }
  /** The parts that the viewer can read. */
  readonly parts: ReadonlySet<RepositoryPart>
  /** Number of the releases that the viewer can see. */
  readonly releases: number
}

/** A request for a page of a repository, with what the page is made of. */
export interface RepositoryRequest<Name extends string = string> extends PageRequest<Name> {
  readonly view: RepositoryView
  readonly services: PageServices
}

/**
 * Declares the pages of a repository. All of them find the repository here, so a client that may not read it
 * gets the 404 of one that does not exist, and a former name leads to the new one.
 */
export const repositoryPages = pagesAbout(
  { auth: 'optional', scope: 'read:repository', kind: 'repository' },
  async (
    { user, params: { owner = '', repo = '' } },
    services,
    /** The part of the repository that the page shows; anything of it when absent. */
    { part = 'repository' }: { readonly part?: RepositoryPart },
  ) => {
    const view = await findRepository(services, user, { owner, repo }, part)
    if (view === undefined) throw missing(`${owner}/${repo}`)
    return { view }
  },
)

export const missing = (what: string): AllotError => new AllotError('not_found', `there is no ${what}`)

const PARTS: readonly RepositoryPart[] = ['code', 'issues', 'releases']

const findRepository = (
  { hosting, store }: PageServices,
  user: Identity | null,
  { owner, repo }: { owner: string; repo: string },
  part: RepositoryPart,
): Promise<RepositoryView | undefined> =>
  store.read(async (tx) => {
    const record = await readableRepository(tx, user, owner, repo, part)
    const [details] = record === undefined ? [] : await repositoryDetails(tx, user, [record])
    if (details === undefined) return undefined
    const readable = await Promise.all(PARTS.map((one) => canRead(tx, user, details.repository, one)))
    const parts = new Set(PARTS.filter((_, index) => readable[index]))
    if (hosting.contents === undefined) parts.delete('code')
    const name = { owner: details.owner.name, name: details.repository.name }
    const seesDrafts = (await permissionOn(tx, user, details.repository, 'releases')).push
    const releases = await countReleases(tx, details.repository.id, seesDrafts)
    return { ...details, releases, name, path: `/${name.owner}/${name.name}`, parts }
  })

/** A place in the history: as the path of a page names it. */
export interface RefName {
  readonly kind: 'branch' | 'tag' | 'commit'
  readonly name: string
}

/** `branch/main`, percent-encoded */
export const refPath = ({ kind, name }: RefName): string => `${kind}/${encodePath(name)}`

/** The short name of a reference: a commit is shown by the beginning of its id. */
export const refTitle = ({ kind, name }: RefName): string => (kind === 'commit' ? name.slice(0, 10) : name)

/** Path of the page of a file or a folder. */
export const filePath = (view: RepositoryView, ref: RefName, path: string, page = 'src'): string =>
  `${view.path}/${page}/${refPath(ref)}${path === '' ? '' : `/${encodePath(path)}`}`

export const defaultRef = ({ repository }: RepositoryView): RefName => ({
  kind: 'branch',
  name: repository.defaultBranch,
})

type Tab = 'code' | 'commits' | 'branches' | 'tags' | 'issues' | 'releases'

const tabsOf = (
  { path, parts, openIssues, releases, repository }: RepositoryView,
  servedPages: ReadonlySet<ServedPage>,
) => {
  const tabs: [id: Tab, name: string, to: string, count?: number][] = []
  if (parts.has('code')) {
    tabs.push(['code', 'Code', path])
    if (!repository.empty)
      tabs.push(
        ['commits', 'Commits', `${path}/commits`],
        ['branches', 'Branches', `${path}/branches`],
        ['tags', 'Tags', `${path}/tags`],
      )
  }
  if (servedPages.has('issue') && parts.has('issues'))
    tabs.push(['issues', 'Issues', `${path}/issues`, openIssues])
  if (servedPages.has('release') && parts.has('releases'))
    tabs.push(['releases', 'Releases', `${path}/releases`, releases])
  return tabs
}

/** The head of every page of a repository. */
export const RepositoryHead = ({
  view,
  tab,
  children,
}: RenderableProps<{ view: RepositoryView; tab: Tab }>) => {
  const { urlOf, servedPages } = usePageContext()
  const { repository, owner, path } = view
  return (
    <>
      <div class="head">
        <div>
          <nav class="title" aria-label="Breadcrumb">
            <Icon name={repository.private ? 'lock' : 'repositories'} />
            <NameLink to={`/${owner.name}`}>{owner.name}</NameLink> <span class="muted">/</span>{' '}
            <StrongLink to={path}>{repository.name}</StrongLink> <RepositoryTags repository={repository} />
          </nav>
        </div>
        {children}
      </div>
      <nav class="tabs" aria-label="Pages of the repository">
        {tabsOf(view, servedPages).map(([id, name, to, count]) => (
          <a key={id} href={urlOf(to)} aria-current={id === tab ? 'page' : undefined}>
            {name}
            {count !== undefined && count > 0 && (
              <span class={count > 99 ? 'tag count wide' : 'tag count'}>{count.toLocaleString('en')}</span>
            )}
          </a>
        ))}
      </nav>
    </>
  )
}

/**
 * A page of a repository.
 * @param name of what the page shows, before that of the repository
 * @param heading for screen readers, where nothing on the page says it
 */
export const repositoryView = (
  view: RepositoryView,
  tab: Tab,
  name: string,
  content: ComponentChildren,
  heading?: string,
): View => ({
  title: `${name} · ${view.name.owner}/${view.name.name}`,
  body: (
    <>
      <RepositoryHead view={view} tab={tab} />
      {heading !== undefined && <h1 class="hidden">{heading}</h1>}
      {content}
    </>
  ),
})
