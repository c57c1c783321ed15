/** One issue with its comments. */
import { type ContentDetails, contentDetails, issueDetails } from '../../content/details.ts'
import type { Comment, Issue } from '../../records/schema/index.ts'
import { formatCount, Link } from '../parts/components.tsx'
import { Dots, Icon } from '../parts/inline.tsx'
import { PageLinks } from '../parts/paging.tsx'
import type { View } from '../parts/route.ts'
import { Day } from '../parts/times.tsx'
import { AccountLink } from '../people/account-parts.tsx'
import { missing, type RepositoryRequest, repositoryPages, repositoryView } from './access.tsx'
import { AttachedFiles } from './attached-files.tsx'
import { ISSUE_PAGE } from './issue-list.tsx'
import { Prose, type RenderedText, renderText } from './rendered-text.tsx'

export const issuePageRoutes = [
  repositoryPages.page({
    ...ISSUE_PAGE,
    path: '/{owner}/{repo}/issues/{index}',
    handle: (request) => issueView(request, request.params.index),
  }),
]

const StateTag = ({ state }: Pick<Issue, 'state'>) => (
  <span class={`issue ${state}`}>
    <Icon name={state} /> {state}
  </span>
)

/** Comments that are read for a page, and bytes of their HTML: as many as fit are shown. */
const MAX_COMMENTS = 40
const BUDGET = 60 * 1024
/** Bytes of a single text. */
const TEXT_BUDGET = 30 * 1024

interface RenderedComment extends ContentDetails<Comment> {
  readonly text: RenderedText
}

const issueView = async (request: RepositoryRequest, index: string): Promise<View> => {
  const { services, view, user, query } = request
  const { hosting, store } = services
  const number = /^[1-9]\d{0,14}$/.test(index) ? Number(index) : 0
  const from = firstIn(query)
  const slice = { offset: 0, limit: MAX_COMMENTS + 1 }
  const found = await hosting.comments.list(user, view.name, number, slice, { from })
  if (found === undefined) throw missing(`issue ${index}`)
  const { issue, page } = found
  const [details] = await store.read((tx) => issueDetails(tx, user, view.repository, [issue]))
  const comments = await store.read((tx) => contentDetails(tx, user, view.repository, 'comment', page.items))
  const render = (text: string) =>
    renderText(request, text, { mode: 'comment', context: view.path, budget: TEXT_BUDGET })
  const body = await render(issue.body)
  const left = BUDGET - Buffer.byteLength(body.html)
  const shown = await renderComments(comments.slice(0, MAX_COMMENTS), render, left)
  const next = page.items[shown.length]
  const path = `${view.path}/issues/${issue.number}`
  return repositoryView(
    view,
    'issues',
    `${issue.title} · #${issue.number}`,
    <>
      <IssueHead issue={issue} comments={details!.comments} />
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
    </>,
  )
}

const IssueHead = ({ issue, comments }: { issue: Issue; comments: number }) => (
  <div class="head">
    <div>
      <h1>
        <bdi>{issue.title}</bdi> <span class="muted">#{issue.number}</span>
      </h1>
      <p class="subtitle">
        <Dots facts={[<StateTag state={issue.state} />, formatCount(comments, 'comment')]} />
      </p>
    </div>
  </div>
)

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

/** The text of an issue or of a comment, with who wrote it and the files that belong to it. */
const PostedText = ({
  details: { record, author, attachments },
  text,
  verb,
  to,
}: {
  details: ContentDetails<Issue | Comment>
  text: RenderedText
  verb: string
  /** Address of a comment. */
  to?: string
}) => (
  <article id={'number' in record ? undefined : `issuecomment-${record.id}`} class="card post">
    <p class="small">
      <Dots
        facts={[
          <>
            <AccountLink account={author} /> {verb} on{' '}
            {to === undefined ? (
              <Day seconds={record.createdAt} />
            ) : (
              <Link to={to} class="quiet">
                <Day seconds={record.createdAt} />
              </Link>
            )}
          </>,
          record.updatedAt > record.createdAt && !('number' in record) && 'edited',
        ]}
      />
    </p>
    {record.body === '' ? <p class="muted">No text.</p> : <Prose text={text} />}
    <AttachedFiles files={attachments} />
  </article>
)
