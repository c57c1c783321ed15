/** The history of a branch, a tag or a file. */
import { listCommits } from '../../repositories/contents/commits.ts'
import { Empty, formatCount, Link, NameLink, StrongLink } from '../parts/components.tsx'
import { Facts, List } from '../parts/list.tsx'
import { PageLinks, Pages, pageNumber } from '../parts/paging.tsx'
import type { View } from '../parts/route.ts'
import { Day } from '../parts/times.tsx'
import {
  defaultRef,
  filePath,
  type RepositoryRequest,
  refTitle,
  repositoryPages,
  repositoryView,
} from './access.tsx'
import { Author, authorsOf, subjectOf } from './commits.tsx'
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
]

/** @param rest names a commit and a file or a folder, as in the path of the page */
const historyView = async (request: RepositoryRequest, rest: string): Promise<View> => {
  const { view } = request
  const { open, ref, path } = await findNamed(request, rest)
  const number = pageNumber(request.query)
  const offset = (number - 1) * PAGE_SIZE
  const { items, count } = (await listCommits(open, { path }, { offset, limit: PAGE_SIZE }))!
  const people = await authorsOf(request, items)
  const choices = await readChoices(open)
  const total = await count()
  const to = (page: number) => `${filePath(view, ref, path, 'commits')}?page=${page}`
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
      <List
        id="commits"
        title="Commits"
        aside={total === undefined ? undefined : <span class="small">{formatCount(total, 'commit')}</span>}
        items={items}
        // Where the number of commits is not known, the pages before this one have some.
        total={total ?? number - 1}
        empty={<Empty title="No commits" />}
        row={({ id, author, committer, ...commit }) => (
          <li key={id} class="line">
            <div>
              <StrongLink to={`${view.path}/commit/${id}`}>{subjectOf(commit)}</StrongLink>
              <Facts facts={[<Author author={author} people={people} />, <Day seconds={committer.time} />]} />
            </div>
            <Link
              to={filePath(view, { kind: 'commit', name: id }, path)}
              label={`Files at ${id.slice(0, 10)}`}
            >
              <code>{id.slice(0, 10)}</code>
            </Link>
          </li>
        )}
        below={
          total === undefined ? (
            <PageLinks
              text={`Page ${number.toLocaleString('en')}`}
              first={number > 1 ? to(1) : undefined}
              previous={number > 1 ? to(number - 1) : undefined}
              next={items.length === PAGE_SIZE ? to(number + 1) : undefined}
              names={NAMES}
            />
          ) : (
            <Pages to={to} page={number} total={total} size={PAGE_SIZE} names={NAMES} />
          )
        }
      />
    </>,
    'Commits',
  )
}
