/** @jsxRuntime automatic @jsxImportSource preact */
/** The issues of a repository, and one issue with its comments. */
import {
  type ContentDetails,
  contentDetails,
  type IssueDetails,
  issueDetails,
} from '../../content/details.ts'
import type { Comment, Issue } from '../../records/schema/index.ts'
import { RequestCommand } from '../parts/command.tsx'
import { Empty, formatCount, Link, Search, Section, usePageContext } from '../parts/components.tsx'
import { Dots, Icon } from '../parts/inline.tsx'
import { EmptyPage, PageLinks, Pages, pageNumber, sliceOf } from '../parts/paging.tsx'
import { type Download, type PageRequest, type PageServices, page, type View } from '../parts/route.ts'
import { Day } from '../parts/times.tsx'
import { AccountLink } from '../people/account-parts.tsx'
import { missing, RepositoryHead, type RepositoryView, repositoryPage } from './access.tsx'
import { pictureType } from './picture-type.ts'
import { PostedText } from './posted-text.tsx'
import { type RenderedText, renderText } from './rendered-text.tsx'

const read = { kind: 'issue', scope: 'read:issue', part: 'issue' } as const

export const issuePageRoutes = [
  repositoryPage({
    ...read,
    path: '/{owner}/{repo}/issues',
    handle: (view, request, services) => listView(services, request, view),
  }),
  repositoryPage({
    ...read,
    path: '/{owner}/{repo}/issues/{index}',
    handle: (view, request, services) => issueView(services, request, view, request.params.index),
  }),
  page({
    method: 'GET',
    path: '/-/attachments/{uuid}',
    auth: 'optional',
    async handle({ user, params }, { hosting }): Promise<Download> {
      const found = await hosting.attachments.byUuid(user, params.uuid)
      if (found === undefined) throw missing('such attachment')
      const { attachment } = found
      const type = pictureType(attachment.name) ?? 'application/octet-stream'
      const content = () => hosting.attachments.read(attachment)
      return { fileName: attachment.name, type, size: attachment.size, content }
    },
  }),
]

const STATES = ['open', 'closed', 'all'] as const
type State = (typeof STATES)[number]

const listView = async (
  services: PageServices,
  request: PageRequest,
  view: RepositoryView,
): Promise<View> => {
  const { hosting, store } = services
  const { user, query, client } = request
  const state = STATES.find((one) => one === query.get('state')) ?? 'open'
  const q = (query.get('q') ?? '').slice(0, 255)
  const number = pageNumber(query)
  const found = await hosting.issues.list(user, view.name, { state, q }, sliceOf(number), client)
  const { items, total } = found?.page ?? { items: [], total: 0 }
  const details = await store.read((tx) => issueDetails(tx, user, view.repository, items))
  const to = (one: State, page = 1) =>
    `${view.path}/issues?${new URLSearchParams({ state: one, q, page: String(page) })}`
  return {
    title: `Issues · ${view.name.owner}/${view.name.name}`,
    body: (
      <>
        <RepositoryHead view={view} tab="issues" />
        <h1 class="hidden">Issues</h1>
        <Section id="issues" title="Issues" aside={<States chosen={state} to={to} />}>
          <IssueSearch path={`${view.path}/issues`} state={state} q={q} />
          {total > 0 && <p class="small">{formatCount(total, 'issue')}</p>}
          {details.length === 0 ? (
            <EmptyPage total={total}>
              <NoIssues view={view} state={state} q={q} isVisitor={user === null} />
            </EmptyPage>
          ) : (
            <ul class="plain rows">
              {details.map((issue) => (
                <IssueRow key={issue.record.id} view={view} issue={issue} />
              ))}
            </ul>
          )}
          <Pages to={(page) => to(state, page)} page={number} total={total} />
        </Section>
      </>
    ),
  }
}

const States = ({ chosen, to }: { chosen: State; to: (state: State) => string }) => (
  <nav class="choices" aria-label="State">
    {STATES.map((state) => (
      <Choice key={state} to={to(state)} isChosen={state === chosen}>
        {state}
      </Choice>
    ))}
  </nav>
)

const IssueSearch = ({ path, state, q }: { path: string; state: State; q: string }) => (
  <Search to={path}>
    <input type="hidden" name="state" value={state} />
    <div>
      <label for="q" class="hidden">
        Search issues
      </label>
      <span class="searched">
        <Icon name="search" />
        <input id="q" name="q" type="search" value={q} maxLength={255} placeholder="Search issues" />
      </span>
    </div>
    <button type="submit" class="secondary">
      Search
    </button>
  </Search>
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

const Choice = ({ to, isChosen, children }: { to: string; isChosen: boolean; children: string }) => (
  <a href={usePageContext().urlOf(to)} aria-current={isChosen ? 'true' : undefined}>
    {children}
  </a>
)

const StateTag = ({ state }: Pick<Issue, 'state'>) => (
  <span class={`issue ${state}`}>
    <Icon name={state} /> {state}
  </span>
)

const IssueRow = ({
  view,
  issue: { record, author, comments },
}: {
  view: RepositoryView
  issue: IssueDetails
}) => (
  <li class="line">
    <div>
      <Link class="strong" to={`${view.path}/issues/${record.number}`}>
        <bdi>{record.title}</bdi>
      </Link>
      <div class="small">
        <Dots
          facts={[
            <>
              #{record.number} opened on <Day seconds={record.createdAt} /> by{' '}
              <AccountLink account={author} />
            </>,
            comments > 0 && formatCount(comments, 'comment'),
          ]}
        />
      </div>
    </div>
    <StateTag state={record.state} />
  </li>
)

/** Comments that are read for a page, and bytes of their HTML: as many as fit are shown. */
const MAX_COMMENTS = 40
const BUDGET = 60 * 1024
/** Bytes of a single text. */
const TEXT_BUDGET = 30 * 1024

interface RenderedComment extends ContentDetails<Comment> {
  readonly text: RenderedText
}

const issueView = async (
  services: PageServices,
  request: PageRequest,
  view: RepositoryView,
  index: string,
): Promise<View> => {
  const { hosting, store } = services
  const { user, query } = request
  const number = /^[1-9]\d{0,14}$/.test(index) ? Number(index) : 0
  const from = firstIn(query)
  const slice = { offset: 0, limit: MAX_COMMENTS + 1 }
  const found = await hosting.comments.list(user, view.name, number, slice, { from })
  if (found === undefined) throw missing(`issue ${index}`)
  const { issue, page } = found
  const [details] = await store.read((tx) => issueDetails(tx, user, view.repository, [issue]))
  const comments = await store.read((tx) => contentDetails(tx, user, view.repository, 'comment', page.items))
  const render = (text: string) =>
    renderText(services, request, text, { mode: 'comment', context: view.path, budget: TEXT_BUDGET })
  const body = await render(issue.body)
  const left = BUDGET - Buffer.byteLength(body.html)
  const shown = await renderComments(comments.slice(0, MAX_COMMENTS), render, left)
  const next = page.items[shown.length]
  const path = `${view.path}/issues/${issue.number}`
  return {
    title: `${issue.title} · #${issue.number} · ${view.name.owner}/${view.name.name}`,
    body: (
      <>
        <RepositoryHead view={view} tab="issues" />
        <div class="head">
          <div>
            <h1>
              <bdi>{issue.title}</bdi> <span class="muted">#{issue.number}</span>
            </h1>
            <p class="subtitle">
              <Dots facts={[<StateTag state={issue.state} />, formatCount(details!.comments, 'comment')]} />
            </p>
          </div>
        </div>
        <PostedText details={details!} text={body} verb="opened this" />
        <div data-comments>
          {shown.map((comment) => (
            <PostedText
              key={comment.record.id}
              details={comment}
              text={comment.text}
              verb="commented"
              to={`${pathFrom(path, comment.record)}#issuecomment-${comment.record.id}`}
            />
          ))}
        </div>
        <PageLinks
          first={from === undefined ? undefined : path}
          next={next && pathFrom(path, next)}
          names={{ first: 'First comments', next: 'Further comments' }}
        />
      </>
    ),
  }
}

/** The comment that the list of an issue begins with; undefined for the first one. */
const firstIn = (query: URLSearchParams): number | undefined => {
  const id = query.get('from') ?? ''
  return /^[1-9]\d{0,14}$/.test(id) ? Number(id) : undefined
}

const pathFrom = (path: string, { id }: Comment): string => `${path}?from=${id}`

/** The comments that fit, at least one. */
const renderComments = async (
  comments: readonly ContentDetails<Comment>[],
  render: (text: string) => Promise<RenderedText>,
  budget: number,
): Promise<RenderedComment[]> => {
  const shown: RenderedComment[] = []
  let left = budget
  for (const comment of comments) {
    const text = await render(comment.record.body)
    left -= Buffer.byteLength(text.html)
    if (left < 0 && shown.length > 0) break
    shown.push({ ...comment, text })
  }
  return shown
}
