/** @jsxRuntime automatic @jsxImportSource preact */
/** The table of all things that use an owner's storage, to sort, filter, search and select from; also as CSV. */
import type { Identity } from '../../accounts/access.ts'
import { type StorageItem, storageItemKinds } from '../../content/usage/storage-item.ts'
import { MAX_READ, type StorageItemPage } from '../../content/usage/storage-items.ts'
import { AllotError } from '../../errors.ts'
import { usedBy } from '../../quota/subjects.ts'
import type { Account } from '../../records/schema/index.ts'
import { Empty, FlashMessage, formatCount, Link, Search, Section, usePageContext } from '../components.tsx'
import { csvOf } from '../csv.ts'
import { Pages, sliceOf } from '../paging.tsx'
import { type PageRequest, type PageServices, page, type View } from '../route.ts'
import { accessibleOwner, OwnerHead, ownerCrumbs } from './access.tsx'
import { Suggestion, suggestionFor } from './suggestion.tsx'
import { isStorageItemKind, pathOf, readQuery, type ThingListQuery } from './thing-query.ts'
import { Elsewhere, KIND_NAMES, linkOf } from './thing-text.tsx'
import { Things } from './things-table.tsx'

export const thingRoutes = [
  page({
    method: 'GET',
    path: '/-/storage/{owner}/usage',
    auth: 'required',
    handle: (request, services) =>
      showThings(request, services, request.params.owner, readQuery(request.query)),
  }),
  page({
    method: 'GET',
    path: '/-/storage/{owner}/usage.csv',
    auth: 'required',
    async handle({ user, params, query }, { hosting, ...services }) {
      const owner = await accessibleOwner({ hosting, ...services }, user, params.owner)
      const suggestion = await suggestionFor({ hosting, ...services }, user, owner, query.get('remove'))
      const { rows, isCut } = suggestion
        ? { rows: suggestion.items, isCut: false }
        : await hosting.storageItems.rows(user, owner.id, readQuery(query))
      const fileName = isCut ? `${owner.name}-usage-largest-${rows.length}.csv` : `${owner.name}-usage.csv`
      const head = ['kind', 'name', 'repository', 'bytes', 'created']
      return csvOf(
        fileName,
        head,
        rows.map((thing) => [
          ...[thing.kind, thing.isHidden ? 'Hidden' : thing.name, thing.inRepository?.name ?? ''],
          ...[String(thing.size), timeOf(thing)],
        ]),
      )
    },
  }),
  page({
    method: 'GET',
    path: '/-/storage/{owner}/{kind}',
    auth: 'required',
    async handle(request, services) {
      const { owner, kind } = request.params
      await accessibleOwner(services, request.user, owner)
      if (!isStorageItemKind(kind)) throw new AllotError('not_found', `there is no list of ${kind}`)
      return showThings(request, services, owner, readQuery(request.query, kind))
    },
  }),
]

const timeOf = ({ createdAt }: Pick<StorageItem, 'createdAt'>): string =>
  new Date(createdAt * 1000).toISOString()

const showThings = async (
  request: Pick<PageRequest, 'site' | 'pagesUrl' | 'query'> & { user: Identity },
  services: PageServices,
  name: string,
  asked: ThingListQuery,
): Promise<View> => {
  const { user, query } = request
  const owner = await accessibleOwner(services, user, name)
  const { hosting, quota } = services
  const status = await quota.statuses.of(owner.id)
  const suggestion = await suggestionFor(services, user, owner, query.get('remove'))
  const { items, total, listed, isPartial } =
    suggestion ?? (await hosting.storageItems.list(user, owner.id, asked, sliceOf(asked.page)))
  const links = new Map(items.map((thing) => [thing.id, linkOf(services, request, owner.name, thing)]))
  const table = {
    owner: owner.name,
    asked,
    things: items,
    links,
    used: usedBy('size:all', status.usage),
    user,
  }
  return {
    title: `Usage of ${owner.name}`,
    crumbs: ownerCrumbs(owner, user),
    body: (
      <>
        <OwnerHead owner={owner} />
        <FlashMessage done={query.get('done')} />
        {suggestion !== undefined && <Suggestion owner={owner.name} {...suggestion} />}
        <Section
          id="things"
          title={suggestion === undefined ? 'What uses the storage' : 'What to remove'}
          aside={
            suggestion === undefined ? (
              <Views owner={owner.name} asked={asked} />
            ) : (
              <Link
                to={`/-/storage/${owner.name}/usage.csv?remove=${encodeURIComponent(suggestion.limit.rule.name)}`}
              >
                CSV
              </Link>
            )
          }
        >
          {suggestion === undefined && <Filters owner={owner} asked={asked} />}
          {suggestion === undefined && items.length > 0 && (
            <Count asked={asked} page={{ total, listed, isPartial }} />
          )}
          <Elsewhere things={items} />
          {items.length === 0 ? (
            <NoThings owner={owner.name} asked={asked} total={total} />
          ) : (
            <Things {...table} isChecked={suggestion !== undefined} />
          )}
          {suggestion === undefined && (
            <Pages
              to={(number) => pathOf(owner.name, { ...asked, page: number })}
              page={asked.page}
              total={listed}
            />
          )}
        </Section>
      </>
    ),
  }
}

/** Switches between single items and the sums of repositories. */
const Views = ({ owner, asked }: { owner: string; asked: ThingListQuery }) => {
  const { urlOf } = usePageContext()
  const isByRepository = asked.kind === 'repositories'
  const query = { ...asked, kind: undefined, repository: '', page: 1 }
  return (
    <nav class="choices" aria-label="View">
      <a href={urlOf(pathOf(owner, query))} aria-current={isByRepository ? undefined : 'true'}>
        Items
      </a>
      <a
        href={urlOf(pathOf(owner, query, 'repositories'))}
        aria-current={isByRepository ? 'true' : undefined}
      >
        By repository
      </a>
    </nav>
  )
}

const Count = ({
  asked: { kind },
  page: { total, listed, isPartial },
}: {
  asked: ThingListQuery
  page: Omit<StorageItemPage, 'items'>
}) => (
  <p class="small">
    {formatCount(
      total,
      kind === undefined ? 'item' : KIND_NAMES[kind][0],
      kind === 'repositories' ? 'repositories' : undefined,
    )}
    .
    {listed < total &&
      !isPartial &&
      ` The ${listed.toLocaleString('en')} largest are listed, here and in a CSV file; filter to see others.`}
    {isPartial &&
      ` Only the ${MAX_READ.toLocaleString('en')} largest of each kind are searched, sorted and listed.`}
  </p>
)

const NoThings = ({ owner, asked, total }: { owner: string; asked: ThingListQuery; total: number }) =>
  total > 0 ? (
    <Empty title="Nothing on this page">
      <p>The list ends before it.</p>
    </Empty>
  ) : asked.search || asked.repository || asked.kind ? (
    <Empty title="Nothing matches">
      <p>
        Change the filter, or <Link to={`/-/storage/${owner}/usage`}>clear it</Link>.
      </p>
    </Empty>
  ) : (
    <Empty title="Nothing is stored yet">
      <p>Repositories, LFS objects, packages, attachments and artifacts are listed here.</p>
    </Empty>
  )

/** Repositories are found by their name alone. */
const Filters = ({ owner: { name }, asked }: { owner: Account; asked: ThingListQuery }) => {
  const isByRepository = asked.kind === 'repositories'
  return (
    <Search to={`/-/storage/${name}/${isByRepository ? 'repositories' : 'usage'}`}>
      <div>
        <label for="q">Name contains</label>
        <input
          id="q"
          name="q"
          type="search"
          value={asked.search ?? ''}
          autocapitalize="none"
          spellcheck={false}
        />
      </div>
      {!isByRepository && <ItemFilters asked={asked} />}
      <button type="submit" class="secondary">
        Filter
      </button>
      <Link class="button secondary" to={pathOf(name, { ...asked, page: 1 }, 'usage.csv')}>
        CSV
      </Link>
    </Search>
  )
}

const ItemFilters = ({ asked }: { asked: ThingListQuery }) => (
  <>
    <div>
      <label for="kind">Kind</label>
      <select id="kind" name="kind">
        <option value="">All kinds</option>
        {storageItemKinds
          .filter((kind) => kind !== 'repositories')
          .map((kind) => (
            <option key={kind} value={kind} selected={kind === asked.kind}>
              {KIND_NAMES[kind][1]}
            </option>
          ))}
      </select>
    </div>
    <div>
      <label for="repository">Repository</label>
      <input
        id="repository"
        name="repository"
        value={asked.repository ?? ''}
        autocapitalize="none"
        spellcheck={false}
      />
    </div>
  </>
)
