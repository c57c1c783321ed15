import * as v from 'valibot'
import { type IssueDetails, issueDetails } from '../../content/details.ts'
import type { FoundIssue } from '../../content/issues.ts'
import * as f from '../fields.ts'
import { repositoryUrls } from '../repository-presenter.ts'
import { at, type Recipient, type Services } from '../route.ts'
import { resource } from '../view.ts'
import { assets } from './attachments.ts'
import { author, pageIn, pageOfIssue, viewInRepository } from './found.ts'

const State = v.picklist(['open', 'closed'])

/**
 * Allot has no labels, milestones or assignees: their members are those of an issue without them on Forgejo.
 */
const issue = resource<IssueDetails>()({
  id: [f.number(8), ({ record }) => record.id],
  url: [
    f.link('/api/v1/repos/alice/app/issues/1'),
    (details, recipient) => `${repositoryUrls(details, recipient).api}/issues/${details.record.number}`,
  ],
  html_url: [
    f.link('/alice/app/issues/1'),
    (details, recipient) => pageOfIssue(details, details.record, recipient),
  ],
  number: [f.number(1), ({ record }) => record.number],
  user: author,
  original_author: [f.text(''), () => ''],
  original_author_id: [f.number(0), () => 0],
  title: [f.text('The build fails'), ({ record }) => record.title],
  body: [f.text('It stops at the second step.'), ({ record }) => record.body],
  ref: [f.text(''), () => ''],
  assets,
  labels: [v.array(v.never()), () => []],
  milestone: [v.null(), () => null],
  assignee: [v.null(), () => null],
  assignees: [v.array(v.never()), () => []],
  state: [State, ({ record }) => record.state],
  is_locked: [v.boolean(), () => false],
  comments: [f.number(1), ({ comments }) => comments],
  created_at: [f.Time, ({ record }) => f.timestamp(record.createdAt)],
  updated_at: [f.Time, ({ record }) => f.timestamp(record.updatedAt)],
  closed_at: [v.nullable(v.string()), ({ record }) => f.timeOrNull(record.closedAt)],
  due_date: [v.null(), () => null],
  pull_request: [v.null(), () => null],
  repository: [
    v.object({
      id: f.number(7),
      name: f.text('app'),
      owner: f.text('alice'),
      full_name: f.text('alice/app'),
    }),
    ({ repository: { id, name }, owner }) => ({
      id,
      name,
      owner: owner.name,
      full_name: `${owner.name}/${name}`,
    }),
  ],
  pin_order: [f.number(0), () => 0],
})
export const Issue = issue.schema
export const presentIssue = issue.present

const issueView = viewInRepository(issue, (tx, viewer, repository, found: readonly FoundIssue[]) =>
  issueDetails(
    tx,
    viewer,
    repository,
    found.map(({ issue }) => issue),
  ),
)

const title = v.pipe(f.text('The build fails'), v.minLength(1), v.maxLength(255))
const IssueListQuery = v.object({
  state: f.choice('State of the issues: open ones when absent.', 'open', 'closed', 'all'),
  q: f.optionalQuery(f.shortText, 'Words of the title, all of them, in any order.'),
  type: f.choice('Finds only issues. There are no pull requests.', 'issues', 'pulls'),
  created_by: f.optionalQuery(f.shortText, 'Name of the author.'),
  labels: f.optionalQuery(f.shortText, 'Finds nothing unless empty: issues have no labels.'),
  milestones: f.optionalQuery(f.shortText, 'Finds nothing unless empty: issues have no milestones.'),
  assigned_by: f.optionalQuery(f.shortText, 'Finds nothing unless empty: issues are not assigned.'),
  mentioned_by: f.optionalQuery(f.shortText, 'Finds nothing unless empty: mentions are not recorded.'),
})

/** Matches no issue. */
const NO_ACCOUNT = 0

/**
 * The author that the query asks for: undefined for any, {@link NO_ACCOUNT} for a property that no issue of
 * Allot has.
 */
const authorIn = async (
  { hosting }: Services,
  { user }: Recipient,
  query: v.InferOutput<typeof IssueListQuery>,
): Promise<number | undefined> => {
  const { labels, milestones, assigned_by, mentioned_by, type, created_by: author } = query
  if (type === 'pulls' || labels || milestones || assigned_by || mentioned_by) return NO_ACCOUNT
  return author ? ((await hosting.accounts.find(user, author))?.id ?? NO_ACCOUNT) : undefined
}

const issues = at('/repos/{owner}/{repo}/issues', { scope: 'issue', ids: { index: f.issueIndex } })

export const issueRoutes = [
  issues.list('issueListIssues', '', {
    summary: "A repository's issues, the newest first: open ones unless `state` says otherwise",
    query: IssueListQuery,
    of: issueView,
    run: async (request, services) => {
      const { user, repository, query, page, client } = request
      const author = await authorIn(services, request, query)
      const search = { state: query.state || 'open', q: query.q, author }
      const found = await services.hosting.issues.list(user, repository, search, page, client())
      return pageIn(found, (issue) => ({ issue }))
    },
  }),
  issues.post('issueCreateIssue', '', {
    summary: 'Open an issue',
    body: v.object({
      title,
      body: v.optional(f.example(f.longText, 'It stops at the second step.')),
      closed: v.optional(v.boolean()),
    }),
    of: issueView,
    run: ({ user, repository, body }, { hosting }) => hosting.issues.create(user, repository, body),
  }),
  issues.get('issueGetIssue', '/{index}', {
    summary: 'An issue, by its number',
    of: issueView,
    run: ({ user, repository, params }, { hosting }) => hosting.issues.find(user, repository, params.index),
  }),
  issues.patch('issueEditIssue', '/{index}', {
    summary: 'Change an issue, close it, or open it again; answers 201, as a Forgejo does',
    body: v.object({
      title: v.optional(title),
      body: v.optional(f.longText),
      state: v.optional(f.example(State, 'closed')),
      ...f.acceptedBooleans('unset_due_date'),
    }),
    of: issueView,
    status: 201,
    run: ({ user, repository, params, body }, { hosting }) =>
      hosting.issues.edit(user, repository, params.index, body),
  }),
  issues.delete('issueDelete', '/{index}', {
    summary: 'Delete an issue with its comments',
    run: ({ user, repository, params }, { hosting }) => hosting.issues.remove(user, repository, params.index),
  }),
]
