import type { Viewer } from '../hosting/access.ts'
import type { UsedEntry } from '../hosting/usage-lists.ts'
import type { Slice } from '../hosting/visible-page.ts'
import type { Account, Repository } from '../records/schema.ts'
import { usedArtifactResource, usedAttachmentResource, usedPackageResource } from '../api/quota/schema.ts'
import { formatCount } from './format.ts'
import type { PageContext, PageServices, View } from './route.ts'
import { Size } from './usage-bar.tsx'

/** @jsxRuntime automatic @jsxImportSource preact */

/** What an owner can list, in the order of the page. */
export const usageKinds = ['repositories', 'attachments', 'packages', 'artifacts'] as const
export type UsageKind = (typeof usageKinds)[number]
export const isUsageKind = (text: string): text is UsageKind =>
  (usageKinds as readonly string[]).includes(text)

/** One thing that counts. */
export interface Item {
  /** Tells it from the others of its page. */
  readonly key: string
  readonly name: string
  /** Where it is, or what it is, in a few words. */
  readonly about: string
  readonly bytes: number
  /** Where more of it is shown; undefined where nothing is. */
  readonly href: string | undefined
  /** The repository that it is in. */
  readonly repository: string | undefined
}

/** A page of what counts, largest first. */
export interface UsageListData {
  readonly kind: UsageKind
  readonly items: readonly Item[]
  readonly total: number
}

const titleOf = (kind: UsageKind): string => `${kind.charAt(0).toUpperCase()}${kind.slice(1)}`

export const UsageList = ({
  frame,
  owner,
  list,
}: {
  frame: PageContext
  owner: string
  list: UsageListData
}) => {
  const { kind, items, total } = list
  return (
    <section aria-labelledby={kind}>
      <h2 id={kind}>Largest {kind}</h2>
      {items.length === 0 ? <p>There are none.</p> : <Items frame={frame} owner={owner} list={list} />}
      {total > items.length && (
        <p>
          <a href={frame.at(`/-/storage/${owner}/${kind}`)}>
            All {total.toLocaleString('en')} {kind}
          </a>
        </p>
      )}
    </section>
  )
}

const Items = ({ frame, owner, list }: { frame: PageContext; owner: string; list: UsageListData }) => (
  <table>
    <thead>
      <tr>
        <th scope="col">Name</th>
        <th scope="col" class="number">
          Size
        </th>
      </tr>
    </thead>
    <tbody>
      {list.items.map((item) => (
        <tr key={item.key}>
          <td>
            {item.href === undefined ? item.name : <a href={item.href}>{item.name}</a>}
            <div class="small">
              {item.about}
              {item.repository !== undefined && (
                <>
                  {' in '}
                  <a href={frame.at(`/-/storage/${owner}/repositories/${item.repository}`)}>
                    {item.repository}
                  </a>
                </>
              )}
            </div>
          </td>
          <td class="number">
            <Size bytes={item.bytes} />
          </td>
        </tr>
      ))}
    </tbody>
  </table>
)

/** A page of a longer list. */
export const usageListView = (
  frame: PageContext,
  owner: string,
  list: UsageListData,
  { number, size }: { number: number; size: number },
): View => {
  const path = `/-/storage/${owner}/${list.kind}`
  const last = Math.max(1, Math.ceil(list.total / size))
  return {
    title: `${titleOf(list.kind)} of ${owner}`,
    body: (
      <>
        <h1>
          {titleOf(list.kind)} of <a href={frame.at(`/-/storage/${owner}`)}>{owner}</a>
        </h1>
        <p>
          {formatCount(
            list.total,
            list.kind.replace(/ies$|s$/, (end) => (end === 's' ? '' : 'y')),
            list.kind,
          )}
          , largest first.
        </p>
        {list.items.length > 0 && <Items frame={frame} owner={owner} list={list} />}
        <Pages at={(page) => frame.at(`${path}?page=${page}`)} number={number} last={last} />
      </>
    ),
  }
}

/** To the pages before and after. */
export const Pages = ({
  at,
  number,
  last,
  words: [before, after] = ['Larger', 'Smaller'],
}: {
  at: (page: number) => string
  number: number
  last: number
  /** What is on the page before, and on the page after. */
  words?: readonly [before: string, after: string]
}) =>
  last === 1 ? null : (
    <nav class="pages" aria-label="Pages of the list">
      {number > 1 && (
        <a rel="prev" href={at(number - 1)}>
          {before}
        </a>
      )}
      <span>
        Page {number} of {last}
      </span>
      {number < last && (
        <a rel="next" href={at(number + 1)}>
          {after}
        </a>
      )}
    </nav>
  )

/** A page of what an owner has of a kind, largest first. */
export const usageList = async (
  services: PageServices,
  frame: PageContext,
  viewer: Viewer,
  owner: Account,
  kind: UsageKind,
  slice: Slice,
): Promise<UsageListData> => {
  const { hosting } = services
  if (kind === 'repositories') {
    const { items, total } = await hosting.listings.of(viewer, owner.id, 'reversesize', slice)
    return { kind, total, items: items.map((one) => repositoryItem(frame, owner, one)) }
  }
  const { items, total } = await hosting.usage.used(viewer, owner.id, kind, slice)
  const site = services.settings.links ? frame.site : undefined
  return { kind, total, items: items.map((one) => entryItem(one, owner.name, site)) }
}

const repositoryItem = ({ at }: PageContext, owner: Account, repository: Repository): Item => ({
  key: repository.name,
  name: repository.name,
  about: [
    repository.private ? 'private' : 'public',
    ...(repository.description === '' ? [] : [repository.description]),
  ].join(' · '),
  bytes: repository.size,
  href: at(`/-/storage/${owner.name}/repositories/${repository.name}`),
  repository: undefined,
})

const entryItem = (
  { entry, repository, attached, isHidden }: UsedEntry,
  owner: string,
  site: string | undefined,
): Item => ({
  key: entry.key,
  name: isHidden ? 'In a private repository' : entry.name,
  about: isHidden ? 'not shown: this session may not read repositories' : aboutOf(entry),
  bytes: entry.size,
  href: site === undefined || isHidden ? undefined : htmlUrlOf({ entry, repository, attached }, owner, site),
  repository,
})

const aboutOf = ({ kind, on, index, run, type, version }: UsedEntry['entry']): string => {
  if (kind === 'packages') return [type, version].filter(Boolean).join(' ')
  if (kind === 'artifacts') return `run ${run ?? 0}`
  return `${on === 'issue' ? 'issue' : 'release'} ${index ?? 0}`
}

/** Where the API says that it is. */
const htmlUrlOf = ({ entry, repository, attached }: UsedEntry, owner: string, baseUrl: string): string => {
  const place = { baseUrl, apiUrl: '', owner, repository, attached }
  if (entry.kind === 'packages') return usedPackageResource(entry, place).html_url
  if (entry.kind === 'artifacts') return usedArtifactResource(entry, place).html_url
  return usedAttachmentResource(entry, place).contained_in.html_url
}
