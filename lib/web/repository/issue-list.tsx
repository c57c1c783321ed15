/** The issues of a repository, with a search. */
import { type IssueDetails, issueDetails } from '../../content/details.ts'
import type { Page } from '../../records/pages.ts'
import { RequestCommand } from '../parts/command.tsx'
import { Empty, formatCount, Link, Search, StrongLink, Submit } from '../parts/components.tsx'
import { FieldFailure, useInvalid } from '../parts/fields.tsx'
import { formOf } from '../parts/form.ts'
import { Icon } from '../parts/inline.tsx'
import { labelOf } from '../parts/labels.ts'
import { List, Row } from '../parts/list.tsx'
import { Choices, pageNumber, sliceOf } from '../parts/paging.tsx'
import { shownAgain, type View } from '../parts/route.ts'
import { Day } from '../parts/times.tsx'
import { AccountLink } from '../people/account-parts.tsx'
import { type RepositoryRequest, type RepositoryView, repositoryPages, repositoryView } from './access.tsx'

/** Declared by every page of issues. */
export const ISSUE_PAGE = { kind: 'issue', scope: 'read:issue', part: 'issues' } as const

export const issueListPageRoutes = [
  repositoryPages.page({
    ...ISSUE_PAGE,
    path: '/{owner}/{repo}/issues',
    async handle(request) {
      try {
        return listView(request, await foundIssues(request))
      } catch (error) {
        const sent = { path: request.path, form: formOf(request.query) }
        return shownAgain(error, sent, () => listView(request, undefined))
      }
    },
  }),
]

const STATES = ['open', 'closed', 'all'] as const
type State = (typeof STATES)[number]

const searchIn = (query: URLSearchParams) => ({
  state: STATES.find((one) => one === query.get('state')) ?? 'open',
  q: (query.get('q') ?? '').slice(0, 255),
})

const foundIssues = async (request: RepositoryRequest): Promise<Page<IssueDetails>> => {
  const { services, view, user, query, client } = request
  const { hosting, store } = services
  const { name, repository } = view
  const slice = sliceOf(pageNumber(query))
  const found = await hosting.issues.list(user, name, searchIn(query), slice, client)
  const { items, total } = found?.page ?? { items: [], total: 0 }
  return { items: await store.read((tx) => issueDetails(tx, user, repository, items)), total }
}

/** @param found the issues; undefined when the search was refused */
const listView = ({ view, user, query }: RepositoryRequest, found: Page<IssueDetails> | undefined): View => {
  const { items, total } = found ?? { items: [], total: 0 }
  const { state, q } = searchIn(query)
  const to = (one: State, page = 1) =>
    `${view.path}/issues?${new URLSearchParams({ state: one, q, page: String(page) })}`
  return repositoryView(
    view,
    'issues',
    'Issues',
    <List
      id="issues"
      title="Issues"
      aside={
        <Choices label="State" choices={STATES.map((one) => [one, one] as const)} chosen={state} to={to} />
      }
      above={
        <>
          <Search to={`${view.path}/issues`}>
            <IssueSearch state={state} q={q} />
          </Search>
          {total > 0 && <p class="small">{formatCount(total, 'issue')}</p>}
        </>
      }
      items={items}
      total={total}
      empty={found && <NoIssues view={view} state={state} q={q} isVisitor={user === null} />}
      row={(issue) => <IssueRow key={issue.record.id} view={view} issue={issue} />}
      page={pageNumber(query)}
      to={(page) => to(state, page)}
    />,
    'Issues',
  )
}

const IssueSearch = ({ state, q }: { state: State; q: string }) => (
  <>
    <input type="hidden" name="state" value={state} />
    <div>
      <label for="q" class="hidden">
        {labelOf('q')}
      </label>
      <span class="searched">
        <Icon name="search" />
        <input
          id="q"
          name="q"
          type="search"
          value={q}
          maxLength={255}
          placeholder={labelOf('q')}
          {...useInvalid('q')}
        />
      </span>
      <FieldFailure field="q" />
    </div>
    <Submit kind="secondary">Search</Submit>
  </>
)

interface NoIssuesProps {
  view: RepositoryView
  state: State
  q: string
  isVisitor: boolean
}

const NoIssues = ({ view: { path, repository }, state, q, isVisitor }: NoIssuesProps) => {
  if (q !== '')
    return (
      <Empty title="No issue matches" icon="search">
        <p>
          <Link to={`${path}/issues`}>Show all open issues</Link>
        </p>
      </Empty>
    )
  return (
    <Empty title={state === 'all' ? 'No issues' : `No ${state} issues`} icon="open">
      {isVisitor || repository.archived || state === 'closed' ? null : (
        <>
          <p>Open one:</p>
          <RequestCommand
            scopes={['write:issue']}
            path={`/repos${path}/issues`}
            body={{ title: 'The first issue', body: 'What happens, and what should happen.' }}
          />
        </>
      )}
    </Empty>
  )
}

/** In a row, the icon stands before the title. */
const IssueRow = ({
  view,
  issue: { record, author, comments },
}: {
  view: RepositoryView
  issue: IssueDetails
}) => (
  <Row
    icon={record.state}
    class={`issue ${record.state}`}
    name={<StrongLink to={`${view.path}/issues/${record.number}`}>{record.title}</StrongLink>}
    facts={[
      <>
        #{record.number} opened on <Day seconds={record.createdAt} /> by <AccountLink account={author} />
      </>,
      comments > 0 && formatCount(comments, 'comment'),
    ]}
    aside={<span class={`issue ${record.state}`}>{record.state}</span>}
  />
)
