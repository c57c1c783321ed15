/** The history of a branch, a tag or a file. */
import type { Commit } from '../../git/objects/parse.ts'
import { listCommits } from '../../repositories/contents/commits.ts'
import { Empty, formatCount, Link, NameLink, StrongLink } from '../parts/components.tsx'
import { Dots } from '../parts/inline.tsx'
import { List } from '../parts/list.tsx'
import { PageLinks, Pages, pageNumber } from '../parts/paging.tsx'
import type { PageRequest, PageServices, View } from '../parts/route.ts'
import { Day } from '../parts/times.tsx'
import {
  defaultRef,
  filePath,
  type RepositoryView,
  refTitle,
  repositoryPage,
  repositoryView,
} from './access.tsx'
import { Author, authorsOf, type People, subjectOf } from './commits.tsx'
import { findNamed, type NamedCommit, RefChoice, readChoices } from './refs.tsx'

const PAGE_SIZE = 40
const NAMES = { first: 'Newest', previous: 'Newer', next: 'Older', last: 'Oldest' }

export const historyPageRoutes = [
  repositoryPage({
    path: '/{owner}/{repo}/commits',
    part: 'code',
    async handle(view, request, services) {
      const { kind, name } = defaultRef(view)
      return historyView(services, request, view, await findNamed(services, request, view, `${kind}/${name}`))
    },
  }),
  repositoryPage({
    path: '/{owner}/{repo}/commits/{rest}',
    takesRest: true,
    part: 'code',
    handle: async (view, request, services) =>
      historyView(services, request, view, await findNamed(services, request, view, request.params.rest)),
  }),
]

interface CommitRowProps {
  readonly view: RepositoryView
  readonly path: string
  readonly commit: Commit
  readonly people: People
}

/** A commit of the history of a path. */
const CommitRow = ({ view, path, commit, people }: CommitRowProps) => (
  <li class="line">
    <div>
      <StrongLink to={`${view.path}/commit/${commit.id}`}>{subjectOf(commit)}</StrongLink>
      <div class="small">
        <Dots
          facts={[<Author author={commit.author} people={people} />, <Day seconds={commit.author.time} />]}
        />
      </div>
    </div>
    <Link
      to={filePath(view, { kind: 'commit', name: commit.id }, path)}
      label={`Files at ${commit.id.slice(0, 10)}`}
    >
      <code>{commit.id.slice(0, 10)}</code>
    </Link>
  </li>
)

interface HistoryPagesProps {
  readonly number: number
  /** Whether the page has as many commits as fit. */
  readonly isFull: boolean
  /** Undefined where the number of commits is not known. */
  readonly total: number | undefined
  readonly to: (page: number) => string
}

const HistoryPages = ({ number, isFull, total, to }: HistoryPagesProps) =>
  total === undefined ? (
    <PageLinks
      text={`Page ${number.toLocaleString('en')}`}
      first={number > 1 ? to(1) : undefined}
      previous={number > 1 ? to(number - 1) : undefined}
      next={isFull ? to(number + 1) : undefined}
      names={NAMES}
    />
  ) : (
    <Pages to={to} page={number} total={total} size={PAGE_SIZE} names={NAMES} />
  )

interface HistoryToolbarProps {
  readonly view: RepositoryView
  readonly path: string
  readonly chosen: NamedCommit['ref']
  readonly choices: Awaited<ReturnType<typeof readChoices>>
}

const HistoryToolbar = ({ view, path, chosen, choices }: HistoryToolbarProps) => (
  <div class="toolbar">
    <RefChoice
      view={view}
      chosen={chosen}
      choices={choices}
      to={(other) => filePath(view, other, path, 'commits')}
    />
    {path !== '' && (
      <span>
        History of <NameLink to={filePath(view, chosen, path)}>{path}</NameLink>
      </span>
    )}
  </div>
)

const historyView = async (
  services: PageServices,
  request: PageRequest,
  view: RepositoryView,
  { open, ref, path }: NamedCommit,
): Promise<View> => {
  const number = pageNumber(request.query)
  const offset = (number - 1) * PAGE_SIZE
  const { items, count } = (await listCommits(open, { path }, { offset, limit: PAGE_SIZE }))!
  const people = await authorsOf(services, request, items)
  const choices = await readChoices(open)
  const total = await count()
  const to = (page: number) => `${filePath(view, ref, path, 'commits')}?page=${page}`
  return repositoryView(
    view,
    'commits',
    `Commits of ${path || refTitle(ref)}`,
    <>
      <HistoryToolbar {...{ view, path, chosen: ref, choices }} />
      <List
        id="commits"
        title="Commits"
        aside={total === undefined ? undefined : <span class="small">{formatCount(total, 'commit')}</span>}
        items={items}
        // Where the number of commits is not known, the pages before this one have some.
        total={total ?? number - 1}
        empty={<Empty title="No commits" />}
        row={(commit) => <CommitRow key={commit.id} {...{ view, path, commit, people }} />}
        below={<HistoryPages number={number} isFull={items.length === PAGE_SIZE} total={total} to={to} />}
      />
    </>,
    'Commits',
  )
}
