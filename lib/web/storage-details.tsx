/** @jsxRuntime automatic @jsxImportSource preact */
import type { Identity, Viewer } from '../accounts/access.ts'
import { presentUsedArtifact, presentUsedAttachment, presentUsedPackage } from '../api/quota/owner-quota.ts'
import { formatBytes, formatSize } from '../byte-sizes.ts'
import type { UsedEntry } from '../content/usage-lists.ts'
import { AllotError } from '../errors.ts'
import { checkScopes } from '../http/route.ts'
import { add, type Sum } from '../integers.ts'
import type { Slice } from '../records/collection.ts'
import type { Account, Repository, RepositoryUsage } from '../records/schema/index.ts'
import { formatCount, Pages, pageNumber, SizeCell, sliceOf, Table } from './components.tsx'
import { type PageContext, type PageServices, page, type View } from './route.ts'

/**
 * Finds an owner whose storage the user may see: the user, an organization that the user owns, or, for administrators,
 * any owner.
 * @throws AllotError not_found when there is no such owner or the user may not know of it; forbidden when the user does
 * not own the organization, or the session lacks the scope
 */
export const accessibleOwner = async (
  { hosting }: PageServices,
  user: Identity,
  name: string,
): Promise<Account> => {
  const account = await hosting.accounts.find(user, name)
  if (account?.id === user.id) return withScope(user, account, 'read:user')
  if (account !== undefined && user.admin) return withScope(user, account, 'read:admin')
  if (account?.kind !== 'organization') throw new AllotError('not_found', `there is no owner named ${name}`)
  if (!(await hosting.organizations.isOwner(account.id, user.id)))
    throw new AllotError('forbidden', `only owners of ${account.name} can see its storage`)
  return withScope(user, account, 'read:organization')
}

const withScope = (user: Identity, account: Account, scope: string): Account => {
  checkScopes(user, { scope })
  return account
}

/** The lists of an owner's page, in their order. */
export const usageKinds = ['repositories', 'attachments', 'packages', 'artifacts'] as const
type UsageKind = (typeof usageKinds)[number]

const SINGULAR: Readonly<Record<UsageKind, string>> = {
  repositories: 'repository',
  attachments: 'attachment',
  packages: 'package',
  artifacts: 'artifact',
}

const isUsageKind = (text: string): text is UsageKind => Object.hasOwn(SINGULAR, text)

export const usageListRoutes = [
  page({
    method: 'GET',
    path: '/-/storage/{owner}/{kind}',
    auth: 'required',
    async handle({ user, frame, params, query }, services) {
      const owner = await accessibleOwner(services, user, params.owner)
      if (!isUsageKind(params.kind)) throw new AllotError('not_found', `there is no list of ${params.kind}`)
      const number = pageNumber(query)
      const list = await readUsageList(services, frame, user, owner, params.kind, sliceOf(number))
      return usageListView(frame, owner.name, list, number)
    },
  }),
]

/** A part of a list of what counts toward an owner, largest first. */
export interface UsageList {
  readonly kind: UsageKind
  readonly items: readonly Item[]
  readonly total: number
}

interface Item {
  /** Unique in its list. */
  readonly key: string
  readonly name: string
  /** Details in a few words. */
  readonly description: string
  readonly bytes: number
  /** Undefined when no page shows the item. */
  readonly href: string | undefined
  /** Name of the repository that contains the item. */
  readonly repository: string | undefined
}

export const readUsageList = async (
  { hosting, settings }: PageServices,
  frame: PageContext,
  viewer: Viewer,
  owner: Account,
  kind: UsageKind,
  slice: Slice,
): Promise<UsageList> => {
  if (kind === 'repositories') {
    const { items, total } = await hosting.repositories.list(viewer, owner.id, 'reversesize', slice)
    return { kind, total, items: items.map((repository) => repositoryItem(frame, owner.name, repository)) }
  }
  const { items, total } = await hosting.usage.used(viewer, owner.id, kind, slice)
  const site = settings.links ? frame.site : undefined
  return { kind, total, items: items.map((used) => entryItem(used, owner.name, site)) }
}

const repositoryItem = (frame: PageContext, owner: string, repository: Repository): Item => ({
  key: repository.name,
  name: repository.name,
  description: [repository.private ? 'private' : 'public', repository.description]
    .filter((text) => text !== '')
    .join(' · '),
  bytes: repository.size,
  href: repositoryHref(frame, owner, repository.name),
  repository: undefined,
})

const repositoryHref = (frame: PageContext, owner: string, name: string): string =>
  frame.at(`/-/storage/${owner}/repositories/${name}`)

const entryItem = (used: UsedEntry, owner: string, site: string | undefined): Item => {
  const { entry, repository, isHidden } = used
  return {
    key: entry.key,
    name: isHidden ? 'Hidden' : entry.name,
    description: isHidden ? 'in a private repository that this session may not read' : descriptionOf(entry),
    bytes: entry.size,
    href: site === undefined || isHidden ? undefined : htmlUrlOf(used, owner, site),
    repository,
  }
}

const descriptionOf = ({ kind, on, index, run, type, version }: UsedEntry['entry']): string => {
  if (kind === 'packages') return [type, version].filter(Boolean).join(' ')
  if (kind === 'artifacts') return `run ${run ?? 0}`
  return `${on === 'issue' ? 'issue' : 'release'} ${index ?? 0}`
}

/** The `html_url` that the API has for an entry. */
const htmlUrlOf = (used: UsedEntry, owner: string, baseUrl: string): string => {
  const urls = { baseUrl, apiUrl: '', owner }
  if (used.entry.kind === 'packages') return presentUsedPackage(used, urls).html_url
  if (used.entry.kind === 'artifacts') return presentUsedArtifact(used, urls).html_url
  return presentUsedAttachment(used, urls).contained_in.html_url
}

interface ListProps {
  frame: PageContext
  owner: string
  list: UsageList
}

/** The section of an owner's page that shows the begin of a list. */
export const LargestItems = ({ frame, owner, list }: ListProps) => {
  const { kind, items, total } = list
  return (
    <section aria-labelledby={kind}>
      <h2 id={kind}>Largest {kind}</h2>
      {items.length === 0 ? <p>No {kind}.</p> : <Items frame={frame} owner={owner} list={list} />}
      {total > items.length && (
        <p>
          <a href={frame.at(`/-/storage/${owner}/${kind}`)}>
            View all {total.toLocaleString('en')} {kind}
          </a>
        </p>
      )}
    </section>
  )
}

const Items = ({ frame, owner, list }: ListProps) => (
  <Table column="Name" numbers={['Size']}>
    {list.items.map((item) => (
      <tr key={item.key}>
        <td>
          {item.href === undefined ? item.name : <a href={item.href}>{item.name}</a>}
          <div class="small">
            {item.description}
            {item.repository !== undefined && (
              <>
                {' in '}
                <a href={repositoryHref(frame, owner, item.repository)}>{item.repository}</a>
              </>
            )}
          </div>
        </td>
        <SizeCell bytes={item.bytes} />
      </tr>
    ))}
  </Table>
)

/** One page of a whole list. */
const usageListView = (frame: PageContext, owner: string, list: UsageList, number: number): View => {
  const { kind, items, total } = list
  const heading = `${kind.charAt(0).toUpperCase()}${kind.slice(1)}`
  return {
    title: `${heading} of ${owner}`,
    body: (
      <>
        <h1>
          {heading} of <a href={frame.at(`/-/storage/${owner}`)}>{owner}</a>
        </h1>
        <p>{formatCount(total, SINGULAR[kind], kind)}, largest first.</p>
        {items.length > 0 && <Items frame={frame} owner={owner} list={list} />}
        <Pages
          href={(page) => frame.at(`/-/storage/${owner}/${kind}?page=${page}`)}
          page={number}
          total={total}
        />
      </>
    ),
  }
}

export const repositoryRoutes = [
  page({
    method: 'GET',
    path: '/-/storage/{owner}/repositories/{repo}',
    auth: 'required',
    async handle({ user, frame, params }, services) {
      const { hosting, quota, settings } = services
      const owner = await accessibleOwner(services, user, params.owner)
      const repository = await hosting.repositories.find(user, owner.name, params.repo)
      const usage = repository && (await quota.repositoryUsage(repository.id))
      if (repository === undefined || usage === undefined)
        throw new AllotError('not_found', `there is no repository named ${owner.name}/${params.repo}`)
      const isCloneable = settings.clones && frame.site !== undefined
      const cloneUrl = isCloneable ? `${frame.site}/${owner.name}/${repository.name}.git` : undefined
      return repositoryView(frame, { owner: owner.name, repository, usage, cloneUrl })
    },
  }),
]

interface RepositoryData {
  readonly owner: string
  readonly repository: Repository
  readonly usage: RepositoryUsage
  /** Undefined when this server does not serve git. */
  readonly cloneUrl: string | undefined
}

const repositoryView = (frame: PageContext, { owner, repository, usage, cloneUrl }: RepositoryData): View => {
  const sizes = [
    ['Git data', usage.git],
    ['LFS', usage.lfs],
    ['Attachments of issues', usage.issues],
    ['Attachments of releases', usage.releases],
    ['Artifacts', usage.artifacts],
    ['Packages', usage.packages],
  ] as const
  const total = sizes.reduce<Sum>((sum, [, bytes]) => add(sum, bytes), 0)
  return {
    title: `${owner}/${repository.name}`,
    body: (
      <>
        <h1>
          <a href={frame.at(`/-/storage/${owner}`)}>{owner}</a>/{repository.name}
        </h1>
        <p class="subtitle">
          {repository.private ? 'Private' : 'Public'}
          {repository.description !== '' && ` · ${repository.description}`}
        </p>
        <p>
          <strong>{formatSize(total)}</strong> in total ({formatBytes(total)}).
        </p>
        <Table column="Category" numbers={['Size']}>
          {sizes.map(([name, bytes]) => (
            <tr key={name}>
              <td>{name}</td>
              <SizeCell bytes={bytes} />
            </tr>
          ))}
        </Table>
        {cloneUrl !== undefined && (
          <p>
            Clone with <code>git clone {cloneUrl}</code>
          </p>
        )}
      </>
    ),
  }
}
