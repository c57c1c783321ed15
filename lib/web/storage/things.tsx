/** @jsxRuntime automatic @jsxImportSource preact */
/** What uses an owner's storage: one table of things of all kinds, to sort, filter, search and select from; also as CSV. */

import type { Identity } from '../../accounts/access.ts'
import { dateOf } from '../../api/fields.ts'
import { pageOfEntry } from '../../api/quota/owner-quota.ts'
import { formatSize } from '../../byte-sizes.ts'
import {
  isRemovable,
  MAX_READ,
  type Thing,
  type ThingKind,
  type ThingQuery,
  thingKinds,
} from '../../content/used-things.ts'
import { AllotError } from '../../errors.ts'
import { add, type Sum } from '../../integers.ts'
import { usedBy } from '../../quota/subjects.ts'
import type { Account } from '../../records/schema/index.ts'
import {
  Empty,
  FlashMessage,
  formatCount,
  Link,
  Pages,
  Post,
  pageNumber,
  Search,
  Section,
  Size,
  sliceOf,
  usePageContext,
} from '../components.tsx'
import { csvOf } from '../csv.ts'
import { type PageRequest, type PageServices, page, type View } from '../route.ts'
import { accessibleOwner, externalLink, OwnerHead, ownerCrumbs } from './access.tsx'
import { Suggestion, suggestionFor } from './suggestion.tsx'

export const KIND_NAMES: Readonly<Record<ThingKind, readonly [one: string, many: string]>> = {
  repositories: ['repository', 'Repositories, with all in them'],
  git: ['git data', 'Git data'],
  lfs: ['LFS object', 'LFS objects'],
  packages: ['package', 'Packages'],
  attachments: ['attachment', 'Attachments'],
  artifacts: ['artifact', 'Artifacts'],
}

const isThingKind = (text: string | null): text is ThingKind => thingKinds.some((kind) => kind === text)

/** What the viewer asked for, from the query of the page. */
interface Asked extends ThingQuery {
  readonly page: number
}

const askedIn = (query: URLSearchParams, kind: string | null = query.get('kind')): Asked => {
  const sort = query.get('sort')
  return {
    kind: isThingKind(kind) ? kind : undefined,
    repository: query.get('repository')?.trim() ?? '',
    search: query.get('q')?.trim().slice(0, 255) ?? '',
    sort: sort === 'name' || sort === 'created' ? sort : 'size',
    reverse: query.get('order') === 'reverse',
    page: pageNumber(query),
  }
}

/** Path of the page with another query. */
const pathOf = (owner: string, asked: Asked, file = 'usage'): string => {
  const query = new URLSearchParams()
  const given = { kind: asked.kind, repository: asked.repository, q: asked.search }
  for (const [name, value] of Object.entries(given)) if (value) query.set(name, value)
  if (asked.sort !== 'size') query.set('sort', asked.sort ?? '')
  if (asked.reverse) query.set('order', 'reverse')
  if (asked.page > 1) query.set('page', String(asked.page))
  return `/-/storage/${owner}/${file}${query.size === 0 ? '' : `?${query}`}`
}

export const thingRoutes = [
  page({
    method: 'GET',
    path: '/-/storage/{owner}/usage',
    auth: 'required',
    handle: (request, services) =>
      showThings(request, services, request.params.owner, askedIn(request.query)),
  }),
  page({
    method: 'GET',
    path: '/-/storage/{owner}/usage.csv',
    auth: 'required',
    async handle({ user, params, query }, { hosting, ...services }) {
      const owner = await accessibleOwner({ hosting, ...services }, user, params.owner)
      const { items } = await hosting.things.list(user, owner.id, askedIn(query), {
        offset: 0,
        limit: MAX_CSV,
      })
      const rows = items.map((thing) => [
        thing.kind,
        titleOf(thing),
        thing.inRepository?.name ?? '',
        String(thing.size),
        timeOf(thing),
      ])
      return csvOf(`${owner.name}-usage.csv`, ['kind', 'name', 'repository', 'bytes', 'created'], rows)
    },
  }),
  page({
    method: 'GET',
    path: '/-/storage/{owner}/{kind}',
    auth: 'required',
    async handle(request, services) {
      const { owner, kind } = request.params
      await accessibleOwner(services, request.user, owner)
      if (!isThingKind(kind)) throw new AllotError('not_found', `there is no list of ${kind}`)
      return showThings(request, services, owner, askedIn(request.query, kind))
    },
  }),
]

const MAX_CSV = 10_000

const timeOf = ({ createdAt }: Thing): string => new Date(createdAt * 1000).toISOString()

const showThings = async (
  request: Pick<PageRequest, 'site' | 'query'> & { user: Identity },
  services: PageServices,
  name: string,
  asked: Asked,
): Promise<View> => {
  const { user, site, query } = request
  const owner = await accessibleOwner(services, user, name)
  const { hosting, quota } = services
  const status = await quota.statuses.of(owner.id)
  const suggestion = await suggestionFor(services, user, owner, query.get('remove'))
  const { items, total, isPartial } =
    suggestion ?? (await hosting.things.list(user, owner.id, asked, sliceOf(asked.page)))
  const links = new Map(items.map((thing) => [thing.id, linkOf(services, site, owner.name, thing)]))
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
        <Section id="things" title={suggestion === undefined ? 'What uses the storage' : 'What to remove'}>
          {suggestion === undefined && <Filters owner={owner} asked={asked} />}
          {suggestion === undefined && <Count asked={asked} total={total} isPartial={isPartial} />}
          {items.length === 0 ? (
            <NoThings asked={asked} />
          ) : (
            <Things {...table} isChecked={suggestion !== undefined} />
          )}
          {suggestion === undefined && (
            <Pages
              to={(number) => pathOf(owner.name, { ...asked, page: number })}
              page={asked.page}
              total={Math.min(total, MAX_READ)}
            />
          )}
        </Section>
      </>
    ),
  }
}

const Count = ({
  asked: { kind },
  total,
  isPartial,
}: {
  asked: Asked
  total: number
  isPartial: boolean
}) => (
  <p class="small">
    {formatCount(
      total,
      kind === undefined ? 'thing' : KIND_NAMES[kind][0],
      kind === 'repositories' ? 'repositories' : undefined,
    )}
    , largest first unless sorted otherwise.
    {isPartial &&
      ` Only the ${MAX_READ.toLocaleString('en')} largest of each kind are searched, sorted and listed.`}
  </p>
)

const NoThings = ({ asked }: { asked: Asked }) =>
  asked.search || asked.repository || asked.kind ? (
    <Empty title="Nothing matches">
      <p>Change or clear the filter.</p>
    </Empty>
  ) : (
    <Empty title="Nothing is stored yet">
      <p>Repositories, LFS objects, packages, attachments and artifacts are listed here.</p>
    </Empty>
  )

const Filters = ({ owner: { name }, asked }: { owner: Account; asked: Asked }) => (
  <Search to={`/-/storage/${name}/usage`}>
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
    <div>
      <label for="kind">Kind</label>
      <select id="kind" name="kind">
        <option value="">All kinds</option>
        {thingKinds.map((kind) => (
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
    <button type="submit">Filter</button>
    <Link class="button secondary" to={pathOf(name, { ...asked, page: 1 }, 'usage.csv')}>
      CSV
    </Link>
  </Search>
)

interface ThingsProps {
  owner: string
  asked: Asked
  things: readonly Thing[]
  links: ReadonlyMap<string, string | undefined>
  /** Bytes of all things of the owner. */
  used: Sum
  user: Identity
  isChecked: boolean
}

const Things = ({ owner, asked, things, links, used, user, isChecked }: ThingsProps) => {
  const removable = things.filter((thing) => isRemovable(user, thing))
  const canSelect = removable.length > 0
  return (
    <Post to={`/-/storage/${owner}/remove`}>
      <table class="things">
        <thead>
          <tr>
            {canSelect && (
              <th scope="col" class="check">
                <span class="hidden">Select</span>
              </th>
            )}
            <SortHead owner={owner} asked={asked} by="name" text="Name" />
            <th scope="col" class="wide">
              Kind
            </th>
            <SortHead owner={owner} asked={asked} by="created" text="Added" class="wide" />
            <th scope="col" class="number wide">
              Share
            </th>
            <SortHead owner={owner} asked={asked} by="size" text="Size" class="number" />
          </tr>
        </thead>
        <tbody>
          {things.map((thing) => (
            <ThingRow
              key={thing.id}
              {...{ owner, thing, used, isChecked, canSelect }}
              link={links.get(thing.id)}
              isRemovable={removable.includes(thing)}
            />
          ))}
        </tbody>
      </table>
      {canSelect && (
        <div class="buttons">
          <button type="submit" class="danger">
            Delete selected…
          </button>
          <span class="small" data-selected="">
            The next page shows what is deleted and how much it frees.
          </span>
        </div>
      )}
    </Post>
  )
}

interface SortHeadProps {
  owner: string
  asked: Asked
  by: NonNullable<ThingQuery['sort']>
  text: string
  class?: string
}

const SortHead = ({ owner, asked, by, text, class: className }: SortHeadProps) => {
  const isSorted = asked.sort === by
  const isDescending = (by === 'name') === (asked.reverse === true)
  const sorted = isSorted ? (isDescending ? 'descending' : 'ascending') : undefined
  const to = pathOf(owner, { ...asked, sort: by, reverse: isSorted && !asked.reverse, page: 1 })
  return (
    <th scope="col" class={className} aria-sort={sorted}>
      <a href={usePageContext().urlOf(to)}>
        {text}
        {isSorted && (isDescending ? ' ↓' : ' ↑')}
      </a>
    </th>
  )
}

interface ThingRowProps {
  owner: string
  thing: Thing
  link: string | undefined
  used: Sum
  isRemovable: boolean
  isChecked: boolean
  /** Whether the table has a column to select things. */
  canSelect: boolean
}

const ThingRow = ({ owner, thing, link, used, isRemovable, isChecked, canSelect }: ThingRowProps) => {
  const title = titleOf(thing)
  return (
    <tr>
      {canSelect && (
        <td class="check">
          {isRemovable && (
            <input
              type="checkbox"
              name="thing"
              value={thing.id}
              checked={isChecked}
              aria-label={`Select ${title}`}
              data-bytes={String(thing.size)}
            />
          )}
        </td>
      )}
      <td>
        <ThingName owner={owner} thing={thing} link={link} title={title} />
        <div class="small">
          <Details owner={owner} thing={thing} />
        </div>
      </td>
      <td class="wide">
        <span class="tag">{KIND_NAMES[thing.kind][0]}</span>
      </td>
      <td class="wide muted">{dateOf(Math.floor(thing.createdAt / 86_400))}</td>
      <td class="number wide">{formatShare(thing.size, used)}</td>
      <td class="number">
        <Size bytes={thing.size} />
      </td>
    </tr>
  )
}

/** `12 %`, or `< 1 %` */
export const formatShare = (part: Sum, whole: Sum): string => {
  const percent = whole > 0 ? (100 * Number(part)) / Number(whole) : 0
  return percent > 0 && percent < 1 ? '< 1 %' : `${Math.round(percent)} %`
}

const ThingName = ({
  owner,
  thing,
  link,
  title,
}: Pick<ThingRowProps, 'owner' | 'thing' | 'link'> & { title: string }) => {
  const { kind, isHidden, inRepository, isKept, id } = thing
  if (isHidden) return <>Hidden</>
  if (kind === 'git' || kind === 'repositories')
    return <Link to={`/-/storage/${owner}/repositories/${inRepository?.name}`}>{title}</Link>
  if (link !== undefined) return <a href={link}>{title}</a>
  if (!isKept) return <bdi>{title}</bdi>
  return <Link to={`/-/storage/${owner}/download?thing=${encodeURIComponent(id)}`}>{title}</Link>
}

/** The name of a thing; that of an LFS object is a hash, of which the beginning is enough. */
export const titleOf = ({ kind, name, isHidden }: Thing): string => {
  if (isHidden) return 'Hidden'
  return kind === 'lfs' && /^[\da-f]{64}$/.test(name) ? `${name.slice(0, 12)}…` : name
}

const Details = ({ owner, thing }: { owner: string; thing: Thing }) => {
  const { kind, isHidden, inRepository, usage, used, isKept, id } = thing
  if (isHidden) return <>in a private repository that this session may not read</>
  if (usage !== undefined)
    return <>{kind === 'repositories' ? partsOf(thing) : inRepository?.private ? 'private' : 'public'}</>
  return (
    <>
      {used !== undefined && descriptionOf(used.entry)}
      {inRepository !== undefined && (
        <>
          {' in '}
          <Link to={`/-/storage/${owner}/repositories/${inRepository.name}`}>{inRepository.name}</Link>
        </>
      )}
      {isKept ? (
        <>
          {' · '}
          <Link
            to={`/-/storage/${owner}/download?thing=${encodeURIComponent(id)}`}
            label={`Download ${thing.name}`}
          >
            Download
          </Link>
        </>
      ) : (
        ' · kept elsewhere'
      )}
    </>
  )
}

/** `public · git 18 MiB, LFS 4 MiB, packages 0 B` of what is not empty */
const partsOf = ({ usage, inRepository }: Thing): string => {
  const { git, lfs, issues, releases, artifacts, packages } = usage!
  const sizes = { git, LFS: lfs, attachments: add(issues, releases), artifacts, packages }
  const parts = Object.entries(sizes).filter(([, bytes]) => bytes > 0)
  const words = parts.map(([name, bytes]) => `${name} ${formatSize(bytes)}`).join(', ')
  return [inRepository?.private ? 'private' : 'public', words].filter(Boolean).join(' · ')
}

const descriptionOf = ({
  kind,
  on,
  index,
  run,
  type,
  version,
  repository,
}: NonNullable<Thing['used']>['entry']): string => {
  if (kind === 'packages') return [type, version].filter(Boolean).join(' ')
  if (kind === 'artifacts') return repository === null ? '' : `run ${run ?? 0}`
  if (kind === 'lfs') return 'LFS'
  return `${on === 'issue' ? 'issue' : 'release'} ${index ?? 0}`
}

const linkOf = (
  services: PageServices,
  site: string | undefined,
  owner: string,
  { kind, used }: Thing,
): string | undefined =>
  used === undefined || used.isHidden || kind === 'lfs'
    ? undefined
    : externalLink(services, site, pageOfEntry(used, owner))

/** The largest things, for the overview. */
export const LargestThings = ({
  owner,
  things,
  used,
  total,
}: {
  owner: string
  things: readonly Thing[]
  used: Sum
  total: number
}) => (
  <Section
    id="largest"
    title="Largest things"
    aside={<Link to={`/-/storage/${owner}/usage`}>View all {total.toLocaleString('en')}</Link>}
  >
    {things.length === 0 ? (
      <p class="muted">Nothing is stored yet.</p>
    ) : (
      <table>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col" class="wide">
              Kind
            </th>
            <th scope="col" class="number wide">
              Share
            </th>
            <th scope="col" class="number">
              Size
            </th>
          </tr>
        </thead>
        <tbody>
          {things.map((thing) => (
            <tr key={thing.id}>
              <td>
                <ThingName owner={owner} thing={thing} link={undefined} title={titleOf(thing)} />
                <div class="small">
                  <Details owner={owner} thing={thing} />
                </div>
              </td>
              <td class="wide">
                <span class="tag">{KIND_NAMES[thing.kind][0]}</span>
              </td>
              <td class="number wide">{formatShare(thing.size, used)}</td>
              <td class="number">
                <Size bytes={thing.size} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    )}
  </Section>
)
