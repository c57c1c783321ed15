/** The history of a branch, a tag or a file, and the commits between two of them. */
import type { ComponentChildren } from 'preact'
import type { Commit } from '../../git/objects/parse.ts'
import { listCommits } from '../../repositories/contents/commits.ts'
import { compare } from '../../repositories/contents/compare.ts'
import { Count, Empty, Link, More, NameLink, StrongLink } from '../parts/components.tsx'
import { Facts, List } from '../parts/list.tsx'
import { PageLinks, Pages, pageNumber } from '../parts/paging.tsx'
import type { View } from '../parts/route.ts'
import { Day } from '../parts/times.tsx'
import {
  defaultRef,
  filePath,
  missing,
  type RepositoryRequest,
  type RepositoryView,
  refTitle,
  repositoryPages,
  repositoryView,
} from './access.tsx'
import { Author, authorsOf, ChangedFiles, type People, subjectOf } from './commits.tsx'
import { findNamed, RefChoice, readChoices } from './refs.tsx'

const PAGE_SIZE = 40
const NAMES = { first: 'Newest', previous: 'Newer', next: 'Older', last: 'Oldest' }

export const historyPageRoutes = [
  repositoryPages.page({
    path: '/{owner}/{repo}/commits',
    part: 'code',
    handle: (request) => {
      const { kind, name } = defaultRef(request.view)
      return historyView(request, `${kind}/${name}`)
    },
  }),
  repositoryPages.page({
    path: '/{owner}/{repo}/commits/{rest}',
    takesRest: true,
    part: 'code',
    handle: (request) => historyView(request, request.params.rest),
  }),
  repositoryPages.page({
    path: '/{owner}/{repo}/compare/{rest}',
    takesRest: true,
    part: 'code',
    handle: (request) => comparisonView(request, request.params.rest),
  }),
]

/** @param rest names a commit and a file or a folder, as in the path of the page */
const historyView = async (request: RepositoryRequest, rest: string): Promise<View> => {
  const { view } = request
  const { open, ref, path } = await findNamed(request, rest)
  const page = pageNumber(request.query)
  const offset = (page - 1) * PAGE_SIZE
  const { items, count } = (await listCommits(open, { path }, { offset, limit: PAGE_SIZE }))!
  const people = await authorsOf(request, items)
  const choices = await readChoices(open)
  const total = await count()
  const to = (other: number) => `${filePath(view, ref, path, 'commits')}?page=${other}`
  return repositoryView(
    view,
    'commits',
    `Commits of ${path || refTitle(ref)}`,
    <>
      <div class="toolbar">
        <RefChoice
          view={view}
          chosen={ref}
          choices={choices}
          to={(other) => filePath(view, other, path, 'commits')}
        />
        {path !== '' && (
          <span>
            History of <NameLink to={filePath(view, ref, path)}>{path}</NameLink>
          </span>
        )}
      </div>
      <Commits
        {...{ view, path, items, people }}
        count={total}
        // Where the number of commits is not known, the pages before this one have some.
        total={total ?? page - 1}
        below={<HistoryPages {...{ page, total, to }} hasNext={items.length === PAGE_SIZE} />}
      />
    </>,
    'Commits',
  )
}

interface CommitsProps {
  readonly title?: string
  readonly view: RepositoryView
  /** The file or the folder that each commit leads to. */
  readonly path: string
  readonly items: readonly Commit[]
  readonly people: People
  /** Number of commits; undefined when it is not known. */
  readonly count: number | undefined
  readonly total: number
  readonly below?: ComponentChildren
}

const Commits = ({ title = 'Commits', view, path, items, people, count, total, below }: CommitsProps) => (
  <List
    id="commits"
    title={title}
    aside={count === undefined ? undefined : <Count of={count} singular="commit" />}
    items={items}
    total={total}
    empty={<Empty title="No commits" />}
    row={({ id, author, committer, ...commit }) => (
      <li key={id} class="line">
        <div>
          <StrongLink to={`${view.path}/commit/${id}`}>{subjectOf(commit)}</StrongLink>
          <Facts facts={[<Author author={author} people={people} />, <Day seconds={committer.time} />]} />
        </div>
        <Link to={filePath(view, { kind: 'commit', name: id }, path)} label={`Files at ${id.slice(0, 10)}`}>
          <code>{id.slice(0, 10)}</code>
        </Link>
      </li>
    )}
    below={below}
  />
)

interface HistoryPagesProps {
  readonly page: number
  /** Number of commits; undefined when it is not known. */
  readonly total: number | undefined
  readonly hasNext: boolean
  readonly to: (page: number) => string
}

const HistoryPages = ({ page, total, hasNext, to }: HistoryPagesProps) =>
  total === undefined ? (
    <PageLinks
      text={`Page ${page.toLocaleString('en')}`}
      first={page > 1 ? to(1) : undefined}
      previous={page > 1 ? to(page - 1) : undefined}
      next={hasNext ? to(page + 1) : undefined}
      names={NAMES}
    />
  ) : (
    <Pages to={to} page={page} total={total} size={PAGE_SIZE} names={NAMES} />
  )

/** @param range `before...after`, to which the `compare_url` of a push leads */
const comparisonView = async (request: RepositoryRequest, range: string): Promise<View> => {
  const { services, view, user, client } = request
  const open = await services.hosting.contents?.open(user, view.name, client)
  const found = open && (await compare(open, range))
  if (found === undefined) throw missing(`comparison ${range}`)
  const { total, files } = found
  const items = found.commits.slice(0, PAGE_SIZE)
  const people = await authorsOf(request, items)
  const title = `Commits of ${range.replaceAll(/[0-9a-f]{40}/g, (id) => id.slice(0, 10))}`
  return repositoryView(
    view,
    'commits',
    title,
    <>
      <Commits
        {...{ title, view, path: '', items, people, total }}
        count={total}
        below={<More left={total - items.length} />}
      />
      {total > 0 && <ChangedFiles files={files} />}
    </>,
    title,
  )
}
