/** @jsxRuntime automatic @jsxImportSource preact */
import type { Viewer } from '../accounts/access.ts'
import type { Slice } from '../accounts/visible-page.ts'
import { presentUsedArtifact, presentUsedAttachment, presentUsedPackage } from '../api/quota/owner-quota.ts'
import type { UsedEntry } from '../content/usage-lists.ts'
import { AllotError } from '../errors.ts'
import type { Slice } from '../records/collection.ts'
import type { Account, Repository } from '../records/schema/index.ts'
import { formatCount, Pages, pageNumber, SizeCell, sliceOf, Table } from './components.tsx'
import { accessibleOwner } from './owner-access.ts'
import { type PageContext, type PageServices, page, type View } from './route.ts'

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
    const { items, total } = await hosting.listings.of(viewer, owner.id, 'reversesize', slice)
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
