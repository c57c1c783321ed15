/** @jsxRuntime automatic @jsxImportSource preact */
/** The pages below an owner's storage: lists of what counts toward the owner, and one repository. */
import type { ComponentChildren, RenderableProps, VNode } from 'preact'
import type { Identity } from '../accounts/access.ts'
import { pageOfEntry } from '../api/quota/owner-quota.ts'
import { formatBytes, formatSize } from '../byte-sizes.ts'
import type { UsedEntry } from '../content/details.ts'
import { AllotError } from '../errors.ts'
import type { HtmlPage } from '../host-pages/html-urls.ts'
import { requireScopes } from '../http/route.ts'
import { add, type Sum } from '../integers.ts'
import { kindNames } from '../quota/subjects.ts'
import type { Slice } from '../records/collection.ts'
import { type Account, noSizes, type Repository } from '../records/schema/index.ts'
import { formatCount, Link, Pages, pageNumber, Section, SizeCell, sliceOf, Table } from './components.tsx'
import { type PageServices, page, type View } from './route.ts'

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
  requireScopes(user, { scope })
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
    async handle(request, services) {
      const { user, params, query } = request
      const owner = await accessibleOwner(services, user, params.owner)
      if (!isUsageKind(params.kind)) throw new AllotError('not_found', `there is no list of ${params.kind}`)
      const number = pageNumber(query)
      return usageListView(
        await readUsageList(services, request, owner, params.kind, sliceOf(number)),
        number,
      )
    },
  }),
]

/** A part of a list of what counts toward an owner, largest first. */
interface UsageList {
  /** Name of the owner. */
  readonly owner: string
  readonly kind: UsageKind
  readonly rows: readonly VNode[]
  readonly total: number
}

export const readUsageList = async (
  services: PageServices,
  { user, site }: { user: Identity; site: string | undefined },
  { id, name: owner }: Account,
  kind: UsageKind,
  slice: Slice,
): Promise<UsageList> => {
  const { hosting } = services
  if (kind === 'repositories') {
    const { items, total } = await hosting.repositories.list(user, id, 'reversesize', slice)
    return { owner, kind, total, rows: items.map((repository) => repositoryRow(owner, repository)) }
  }
  const { items, total } = await hosting.usage.used(user, id, kind, slice)
  const linkOf = (used: UsedEntry) => externalLink(services, site, pageOfEntry(used, owner))
  return { owner, kind, total, rows: items.map((used) => entryRow(owner, used, linkOf)) }
}

const repositoryRow = (owner: string, { name, private: isPrivate, description, size }: Repository): VNode => (
  <Row key={name} title={<RepositoryLink owner={owner} name={name} />} bytes={size}>
    {isPrivate ? 'private' : 'public'}
    {description !== '' && ` · ${description}`}
  </Row>
)

/** @returns the `html_url` of what a page shows; undefined when the host has no such pages, or the URL is unknown */
export const externalLink = (
  { htmlUrls, settings }: PageServices,
  site: string | undefined,
  page: HtmlPage | undefined,
): string | undefined => (settings.links && page !== undefined ? htmlUrls.of(page, site) : undefined)

const entryRow = (owner: string, used: UsedEntry, linkOf: (used: UsedEntry) => string | undefined): VNode => {
  const { entry, repository, isHidden } = used
  const link = isHidden ? undefined : linkOf(used)
  const name = isHidden ? 'Hidden' : entry.name
  return (
    <Row key={entry.key} title={link === undefined ? name : <a href={link}>{name}</a>} bytes={entry.size}>
      {isHidden ? 'in a private repository that this session may not read' : descriptionOf(entry)}
      {repository !== undefined && (
        <>
          {' in '}
          <RepositoryLink owner={owner} name={repository} />
        </>
      )}
    </Row>
  )
}

const descriptionOf = ({ kind, repository, on, index, run, type, version }: UsedEntry['entry']): string => {
  if (kind === 'packages') return [type, version].filter(Boolean).join(' ')
  if (kind === 'artifacts') return repository === null ? '' : `run ${run ?? 0}`
  return `${on === 'issue' ? 'issue' : 'release'} ${index ?? 0}`
}

/** @param props `children`: details in a few words */
const Row = ({ title, bytes, children }: RenderableProps<{ title: ComponentChildren; bytes: number }>) => (
  <tr>
    <td>
      {title}
      <div class="small">{children}</div>
    </td>
    <SizeCell bytes={bytes} />
  </tr>
)

const RepositoryLink = ({ owner, name }: { owner: string; name: string }) => (
  <Link to={`/-/storage/${owner}/repositories/${name}`}>{name}</Link>
)

/** The section of an owner's page that shows the begin of a list. */
export const LargestItems = ({ owner, kind, rows, total }: UsageList) => (
  <Section id={kind} title={`Largest ${kind}`}>
    {rows.length === 0 ? <p>No {kind}.</p> : <Rows rows={rows} />}
    {total > rows.length && (
      <p>
        <Link to={`/-/storage/${owner}/${kind}`}>
          View all {total.toLocaleString('en')} {kind}
        </Link>
      </p>
    )}
  </Section>
)

const Rows = ({ rows }: Pick<UsageList, 'rows'>) => (
  <Table column="Name" numbers={['Size']}>
    {rows}
  </Table>
)

/** One page of a whole list. */
const usageListView = ({ owner, kind, rows, total }: UsageList, number: number): View => {
  const heading = `${kind.charAt(0).toUpperCase()}${kind.slice(1)}`
  return {
    title: `${heading} of ${owner}`,
    body: (
      <>
        <h1>
          {heading} of <Link to={`/-/storage/${owner}`}>{owner}</Link>
        </h1>
        <p>{formatCount(total, SINGULAR[kind], kind)}, largest first.</p>
        {rows.length > 0 && <Rows rows={rows} />}
        <Pages to={(page) => `/-/storage/${owner}/${kind}?page=${page}`} page={number} total={total} />
      </>
    ),
  }
}

export const repositoryRoutes = [
  page({
    method: 'GET',
    path: '/-/storage/{owner}/repositories/{repo}',
    auth: 'required',
    async handle({ user, site, params }, services) {
      const { hosting, quota, settings } = services
      const owner = await accessibleOwner(services, user, params.owner)
      const repository = await hosting.repositories.find(user, owner.name, params.repo)
      const usage = repository && (await quota.repositoryUsage(repository.id))
      if (repository === undefined || usage === undefined)
        throw new AllotError('not_found', `there is no repository named ${owner.name}/${params.repo}`)
      const path = `${owner.name}/${repository.name}`
      const sizes: [name: string, bytes: Sum][] = [
        ['Git data', usage.git],
        ...contentKinds.map((kind): [string, Sum] => [kindNames[kind], usage[kind]]),
      ]
      const total = sizes.reduce<Sum>((sum, [, bytes]) => add(sum, bytes), 0)
      const name = { owner: owner.name, repo: repository.name }
      const link = externalLink(services, site, { kind: 'repository', ...name })
      return {
        title: path,
        body: (
          <>
            <h1>
              <Link to={`/-/storage/${owner.name}`}>{owner.name}</Link>/{repository.name}
            </h1>
            <p class="subtitle">
              {repository.private ? 'Private' : 'Public'}
              {repository.description !== '' && ` · ${repository.description}`}
            </p>
            {link !== undefined && (
              <p>
                <a href={link}>Go to the repository</a>
              </p>
            )}
            <p>
              <strong>{formatSize(total)}</strong> in total ({formatBytes(total)}).
            </p>
            <Sizes sizes={sizes} />
            {settings.clones && site !== undefined && (
              <p>
                Clone with <code>git clone {`${site}/${path}.git`}</code>
              </p>
            )}
          </>
        ),
      }
    },
  }),
]

const contentKinds = Object.keys(noSizes) as (keyof typeof noSizes)[]

const Sizes = ({ sizes }: { sizes: readonly (readonly [name: string, bytes: Sum])[] }) => (
  <Table column="Category" numbers={['Size']}>
    {sizes.map(([name, bytes]) => (
      <tr key={name}>
        <td>{name}</td>
        <SizeCell bytes={bytes} />
      </tr>
    ))}
  </Table>
)
