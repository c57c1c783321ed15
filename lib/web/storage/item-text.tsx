/** How an item that uses storage is shown: name, details, share and links. */
import type { ComponentChildren } from 'preact'
import { pageOfEntry } from '../../content/usage/ledger-lists.ts'
import type { StorageItem, StorageItemKind } from '../../content/usage/storage-item.ts'
import { REPOSITORY_SIZES, type RepositorySize } from '../../records/schema/index.ts'
import { Empty, Link, Size, unbrokenSize } from '../parts/components.tsx'
import { Dots, Named } from '../parts/inline.tsx'
import { type Column, List, Table } from '../parts/list.tsx'
import { Day } from '../parts/times.tsx'
import { pageLink, type StorageRequest } from './access.tsx'
import { formatShare, shareColumn } from './share.tsx'

export const KIND_NAMES: Readonly<Record<StorageItemKind, readonly [one: string, many: string]>> = {
  repositories: ['repository', 'Repositories'],
  git: ['git data', 'Git data'],
  lfs: ['LFS object', 'LFS objects'],
  packages: ['package', 'Packages'],
  attachments: ['attachment', 'Attachments'],
  artifacts: ['artifact', 'Artifacts'],
}

interface ItemProps {
  owner: string
  item: StorageItem
  /** `html_url` of the item. */
  link: string | undefined
}

/** What the columns of a table of items need. */
interface ItemColumns {
  owner: string
  /** `html_url`s of items, by their ids. */
  links: ReadonlyMap<string, string | undefined>
  /** Bytes of all items of the owner. */
  used: number
  /** Whether the table has a column of kinds. */
  hasKind: boolean
  /** Undefined without a column of days; true to show them on narrow screens, which have no such column. */
  hasDay?: boolean
}

type ItemColumn = Column<StorageItem, 'name' | 'created' | 'size'>

const nameCell =
  ({ owner, links, hasKind, hasDay }: ItemColumns): NonNullable<ItemColumn['cell']> =>
  (item) => (
    <Named icon={item.kind}>
      <ItemName owner={owner} item={item} link={links.get(item.id)} />
      {isElsewhere(item) && <ElsewhereMark />}
      <div class="small">
        <Dots
          facts={[
            hasKind && <span class="slim">{KIND_NAMES[item.kind][0]}</span>,
            hasDay && (
              <span class="slim">
                <Day seconds={item.createdAt} />
              </span>
            ),
            ...detailsOf(owner, item),
          ]}
        />
      </div>
    </Named>
  )

/** The columns of a table with names, kinds, shares and sizes of items, the first of which all have. */
export const itemColumns = (columns: ItemColumns): (ItemColumn | false)[] => {
  const { used, hasKind, hasDay } = columns
  return [
    { head: 'Name', by: 'name', cell: nameCell(columns) },
    hasKind && {
      head: 'Kind',
      class: 'wide',
      cellClass: 'muted kind',
      cell: (item) => KIND_NAMES[item.kind][0],
    },
    hasDay !== undefined && {
      head: 'Added',
      by: 'created',
      class: 'wide',
      cellClass: 'muted',
      cell: (item) => <Day seconds={item.createdAt} />,
    },
    shareColumn((item) => item.size, used, ' wide'),
    {
      head: 'Size',
      by: 'size',
      class: 'number',
      cell: ({ size }) => (
        <>
          <Size bytes={size} />
          <div class="small slim">{formatShare(size, used)} of total</div>
        </>
      ),
    },
  ]
}

/** Whether the host has put it into the ledger: what it is stored in, and deleted from, is another system. */
export const isElsewhere = ({ used, isStoredHere, isHidden }: StorageItem): boolean =>
  used !== undefined && !isStoredHere && !isHidden

/** Says once for a list what the mark at some of its items means. */
export const Elsewhere = ({ items }: { items: readonly StorageItem[] }) =>
  items.some(isElsewhere) ? (
    <p class="small">
      <ElsewhereMark /> Stored in another system: delete it there.
    </p>
  ) : null

const ElsewhereMark = () => (
  <span class="elsewhere" role="img" aria-label="Stored in another system" title="Stored in another system">
    ↗
  </span>
)

const ItemName = ({ owner, item, link }: ItemProps) => {
  const title = titleOf(item)
  const { kind, isHidden, inRepository, isStoredHere, id } = item
  if (isHidden) return <>Hidden</>
  if (kind === 'git' || kind === 'repositories')
    return <Link to={`/-/storage/${owner}/repositories/${inRepository?.name}`}>{title}</Link>
  if (link !== undefined) return <a href={link}>{title}</a>
  if (!isStoredHere) return <bdi>{title}</bdi>
  return <Link to={`/-/storage/${owner}/download?item=${encodeURIComponent(id)}`}>{title}</Link>
}

/**
 * The name of an item. An LFS object without a path is named after its hash, of which the beginning is
 * enough.
 */
export const titleOf = ({
  kind,
  name,
  isHidden,
}: Pick<StorageItem, 'kind' | 'name' | 'isHidden'>): string => {
  if (isHidden) return 'Hidden'
  return kind === 'lfs' && /^[\da-f]{64}$/.test(name) ? `${name.slice(0, 12)}…` : name
}

/** The name and the repository, which tell items with the same name apart. */
export const labelOf = (item: StorageItem): string =>
  item.used !== undefined && item.inRepository !== undefined
    ? `${titleOf(item)} in ${item.inRepository.name}`
    : titleOf(item)

/** Facts below the name of an item. */
const detailsOf = (owner: string, item: StorageItem): ComponentChildren[] => {
  const { kind, isHidden, inRepository, usage, used, uploader, isStoredHere, id } = item
  if (isHidden) return ['in a private repository that this session may not read']
  if (usage !== undefined) {
    const visibility = inRepository?.private ? 'private' : 'public'
    return [visibility, kind === 'repositories' && partsOf(usage)]
  }
  const repository = inRepository !== undefined && (
    <Link to={`/-/storage/${owner}/repositories/${inRepository.name}`}>{inRepository.name}</Link>
  )
  return [
    <>
      {used !== undefined && descriptionOf(used.entry)}
      {repository && <> in {repository}</>}
    </>,
    uploader !== undefined && (
      <>
        attached by <Link to={`/-/storage/${owner}/usage?uploader=${uploader}`}>{uploader}</Link>
      </>
    ),
    isStoredHere && (
      <Link
        to={`/-/storage/${owner}/download?item=${encodeURIComponent(id)}`}
        label={`Download ${labelOf(item)}`}
      >
        Download
      </Link>
    ),
  ]
}

const SIZE_NAMES: Record<RepositorySize, string> = {
  git: 'git',
  lfs: 'LFS',
  issues: 'attachments',
  releases: 'attachments',
  artifacts: 'artifacts',
  packages: 'packages',
}

/** `git 18 MiB, LFS 4 MiB`: the sizes of a repository that are not 0 */
const partsOf = (usage: NonNullable<StorageItem['usage']>): string => {
  const sizes = new Map<string, number>()
  for (const size of REPOSITORY_SIZES)
    sizes.set(SIZE_NAMES[size], (sizes.get(SIZE_NAMES[size]) ?? 0) + usage[size])
  const parts = [...sizes].filter(([, bytes]) => bytes > 0)
  return parts.map(([name, bytes]) => `${name}\u00a0${unbrokenSize(bytes)}`).join(', ')
}

const descriptionOf = ({
  kind,
  on,
  index,
  run,
  type,
  version,
  repository,
}: NonNullable<StorageItem['used']>['entry']): string => {
  if (kind === 'packages') return [type, version].filter(Boolean).join(' ')
  if (kind === 'artifacts') return repository === null ? '' : `run ${run ?? 0}`
  if (kind === 'lfs') return ''
  return `${on === 'issue' ? 'issue' : 'release'} ${index ?? 0}`
}

/** The page of the host about an item, for hosts that have such pages. */
export const linkOf = (request: StorageRequest, { kind, used }: StorageItem): string | undefined =>
  !request.services.settings.links || used === undefined || used.isHidden || kind === 'lfs'
    ? undefined
    : pageLink(request, pageOfEntry(used, request.owner.name))

interface LargestItemsProps extends Pick<ItemColumns, 'owner' | 'links' | 'used'> {
  items: readonly StorageItem[]
  total: number
}

/** The largest items, for the overview. */
export const LargestItems = ({ items, total, ...columns }: LargestItemsProps) => (
  <List
    id="largest"
    title="Largest items"
    aside={
      total > 0 && (
        <Link to={`/-/storage/${columns.owner}/usage`}>
          View {total > items.length ? `all ${total.toLocaleString('en')}` : 'usage'}
        </Link>
      )
    }
    items={items}
    empty={<NothingStored />}
  >
    <Elsewhere items={items} />
    <Table
      class="items"
      items={items}
      keyOf={({ id }) => id}
      columns={itemColumns({ ...columns, hasKind: true })}
    />
  </List>
)

export const NothingStored = () => (
  <Empty title="Nothing is stored yet" icon="lfs">
    <p>Repositories, LFS objects, packages, attachments and artifacts are listed here.</p>
  </Empty>
)
