/**
 * The table of all items that use an owner's storage, to sort, filter, search and select from; also as CSV.
 */
import { timestamp } from '../../clock.ts'
import { storageItemKinds } from '../../content/usage/storage-item.ts'
import { MAX_LISTED, type StorageItemPage } from '../../content/usage/storage-items.ts'
import { AllotError } from '../../errors.ts'
import { usedBy } from '../../quota/subjects.ts'
import type { Account } from '../../records/schema/index.ts'
import { Empty, FlashMessage, formatCount, Link, Search, Section, Submit } from '../parts/components.tsx'
import { csvOf } from '../parts/csv.ts'
import { ChoiceFilter, NameFilter, WholeNameFilter } from '../parts/fields.tsx'
import { Icon } from '../parts/inline.tsx'
import { Choices, EmptyPage, Pages, sliceOf } from '../parts/paging.tsx'
import type { View } from '../parts/route.ts'
import { ownerView, type StorageRequest, storagePages } from './access.tsx'
import { Elsewhere, KIND_NAMES, linkOf, NothingStored } from './item-text.tsx'
import { type ItemListQuery, Items, isStorageItemKind, pathOf, readQuery } from './items-table.tsx'
import { Suggestion, suggestionFor } from './suggestion.tsx'

export const itemPageRoutes = [
  storagePages.page({
    path: '/-/storage/{owner}/usage',
    handle: (request) => showItems(request, readQuery(request.query)),
  }),
  storagePages.page({
    path: '/-/storage/{owner}/usage.csv',
    async handle({ owner, services, user, query }) {
      const suggestion = await suggestionFor(services, user, owner, query.get('remove'))
      const { rows, isCut } = suggestion
        ? { rows: suggestion.items, isCut: false }
        : await services.hosting.storageItems.rows(user, owner.id, readQuery(query))
      const fileName = isCut ? `${owner.name}-usage-largest-${rows.length}.csv` : `${owner.name}-usage.csv`
      return csvOf(
        fileName,
        {
          kind: ({ kind }) => kind,
          name: ({ isHidden, name }) => (isHidden ? 'Hidden' : name),
          repository: ({ inRepository }) => inRepository?.name ?? '',
          bytes: ({ size }) => String(size),
          created: ({ createdAt }) => timestamp(createdAt),
        },
        rows,
      )
    },
  }),
  storagePages.page({
    path: '/-/storage/{owner}/{kind}',
    async handle(request) {
      const { kind } = request.params
      if (!isStorageItemKind(kind)) throw new AllotError('not_found', `there is no list of ${kind}`)
      return showItems(request, readQuery(request.query, kind))
    },
  }),
]

const showItems = async (request: StorageRequest, asked: ItemListQuery): Promise<View> => {
  const { owner, services, user, query } = request
  const { hosting, quota } = services
  const status = await quota.statuses.of(owner.id)
  const suggestion = await suggestionFor(services, user, owner, query.get('remove'))
  const { items, total, listed, isPartial } =
    suggestion ?? (await hosting.storageItems.list(user, owner.id, asked, sliceOf(asked.page)))
  const links = new Map(items.map((item) => [item.id, linkOf(request, item)]))
  const table = {
    owner: owner.name,
    asked,
    items,
    links,
    used: usedBy('size:all', status.usage),
    user,
  }
  return ownerView(
    request,
    'Usage',
    <>
      <FlashMessage />
      {suggestion !== undefined && <Suggestion owner={owner.name} {...suggestion} />}
      <Section
        id="items"
        title={suggestion === undefined ? 'What uses the storage' : 'What to remove'}
        aside={<Aside owner={owner.name} asked={asked} rule={suggestion?.limit.rule.name} />}
      >
        {suggestion === undefined && <Filters owner={owner} asked={asked} />}
        {suggestion === undefined && items.length > 0 && (
          <ListedCount owner={owner.name} asked={asked} page={{ total, listed, isPartial }} />
        )}
        <Elsewhere items={items} />
        {items.length === 0 ? (
          <EmptyPage total={total}>
            <NoItems owner={owner.name} asked={asked} />
          </EmptyPage>
        ) : (
          <Items {...table} isChecked={suggestion !== undefined} />
        )}
        {suggestion === undefined && (
          <Pages
            to={(number) => pathOf(owner.name, { ...asked, page: number })}
            page={asked.page}
            total={listed}
          />
        )}
      </Section>
    </>,
  )
}

interface AsideProps {
  readonly owner: string
  readonly asked: ItemListQuery
  /** Name of the rule for which items to remove are suggested. */
  readonly rule: string | undefined
}

const Aside = ({ owner, asked, rule }: AsideProps) =>
  rule === undefined ? (
    <Choices
      label="View"
      choices={VIEWS}
      chosen={asked.kind === 'repositories' ? 'repositories' : 'usage'}
      to={(file) => pathOf(owner, { ...asked, ...WHOLE }, file)}
    />
  ) : (
    <Link
      class="button secondary small"
      to={`/-/storage/${owner}/usage.csv?remove=${encodeURIComponent(rule)}`}
    >
      <Icon name="download" />
      Download CSV
    </Link>
  )

/** Single items, and the sums of repositories: the end of the path of each. */
const VIEWS = [
  ['usage', 'Items'],
  ['repositories', 'By repository'],
] as const
/** A query that is for both. */
const WHOLE = { kind: undefined, repository: '', uploader: '', page: 1 }

const ListedCount = ({
  owner,
  asked,
  asked: { kind },
  page: { total, listed, isPartial },
}: {
  owner: string
  asked: ItemListQuery
  page: Omit<StorageItemPage, 'items'>
}) => (
  <p class="small">
    {formatCount(
      total,
      kind === undefined ? 'item' : KIND_NAMES[kind][0],
      kind === 'repositories' ? 'repositories' : undefined,
    )}
    {listed < total &&
      !isPartial &&
      `. The ${listed.toLocaleString('en')} largest are listed, and more in a CSV file; filter to see others.`}
    {isPartial &&
      `. Only the ${MAX_LISTED.toLocaleString('en')} largest are searched and sorted; filter to search others.`}{' '}
    <OtherOrder owner={owner} asked={asked} />
  </p>
)

/** Narrow screens have no column of days, whose head sorts by them. */
const OtherOrder = ({ owner, asked }: { owner: string; asked: ItemListQuery }) => {
  const isByDay = asked.sort === 'created'
  const order = { sort: isByDay ? 'size' : 'created', reverse: false } as const
  return (
    <span class="slim">
      {'· '}
      <Link to={pathOf(owner, { ...asked, ...order, page: 1 })}>{isByDay ? 'Largest' : 'Newest'} first</Link>
    </span>
  )
}

const NoItems = ({ owner, asked }: { owner: string; asked: ItemListQuery }) =>
  asked.search || asked.repository || asked.uploader || asked.kind ? (
    <Empty title="Nothing matches" icon="search">
      <p>
        Change the filter, or <Link to={`/-/storage/${owner}/usage`}>clear it</Link>.
      </p>
    </Empty>
  ) : (
    <NothingStored />
  )

/** Repositories are found by their name alone. */
const Filters = ({ owner: { name }, asked }: { owner: Account; asked: ItemListQuery }) => {
  const isByRepository = asked.kind === 'repositories'
  return (
    <Search to={`/-/storage/${name}/${isByRepository ? 'repositories' : 'usage'}`}>
      <NameFilter id="q" value={asked.search ?? ''} />
      {!isByRepository && <ItemFilters asked={asked} />}
      <Submit kind="secondary">Filter</Submit>
      <Link class="button secondary" to={pathOf(name, { ...asked, page: 1 }, 'usage.csv')}>
        <Icon name="download" />
        Download CSV
      </Link>
    </Search>
  )
}

const ItemFilters = ({ asked }: { asked: ItemListQuery }) => (
  <>
    <ChoiceFilter
      id="kind"
      label="Kind"
      any="All kinds"
      choices={storageItemKinds
        .filter((kind) => kind !== 'repositories')
        .map((kind) => [kind, KIND_NAMES[kind][1]])}
      chosen={asked.kind}
    />
    <WholeNameFilter id="repository" label="Repository" value={asked.repository} />
    <WholeNameFilter id="uploader" label="Attached by" value={asked.uploader} />
  </>
)
