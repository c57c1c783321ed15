import * as v from 'valibot'
import type { TimelineItem } from '../../content/comment-lists.ts'
import { type ContentDetails, contentDetails } from '../../content/details.ts'
import type { Issue } from '../../records/schema/index.ts'
import { example, issueIndex, number, Time, text, timestamp } from '../fields.ts'
import { repositoryUrls } from '../repository-presenter.ts'
import { at, type Recipient } from '../route.ts'
import { presentUser, User } from '../users.ts'
import { CommentListQuery, commentQueryOf } from './comments.ts'
import { pageIn, viewInRepository } from './found.ts'

/**
 * An event of a timeline. Members for labels, milestones and references, which Allot does not have, are left
 * out.
 */
const TimelineComment = v.object({
  id: number(9),
  type: example(v.picklist(['comment', 'close', 'reopen', 'change_title']), 'comment'),
  html_url: text('https://code.example.org/alice/app/issues/1#issuecomment-9'),
  pull_request_url: text(''),
  issue_url: text('https://code.example.org/alice/app/issues/1'),
  user: User,
  body: text('A newer compiler helps.'),
  old_title: text(''),
  new_title: text(''),
  created_at: Time,
  updated_at: Time,
})

const presentItem = (
  details: ContentDetails<TimelineItem>,
  issue: Issue,
  recipient: Recipient,
): v.InferOutput<typeof TimelineComment> => {
  const { record, author } = details
  const { baseUrl, htmlUrls } = recipient
  const page = { ...repositoryUrls(details, recipient).name, index: issue.number }
  const isEvent = 'kind' in record
  return {
    id: record.id,
    type: isEvent ? record.kind : 'comment',
    html_url: htmlUrls.of({ kind: 'comment', ...page, id: record.id }, baseUrl),
    pull_request_url: '',
    issue_url: htmlUrls.of({ kind: 'issue', ...page }, baseUrl),
    user: presentUser(author, recipient),
    body: isEvent ? '' : record.body,
    old_title: (isEvent && record.oldTitle) || '',
    new_title: (isEvent && record.newTitle) || '',
    created_at: timestamp(record.createdAt),
    updated_at: timestamp(isEvent ? record.createdAt : record.updatedAt),
  }
}

interface ItemOnIssue {
  readonly item: TimelineItem
  readonly issue: Issue
}

const itemView = viewInRepository(
  TimelineComment,
  async (tx, viewer, repository, found: readonly ItemOnIssue[]) => {
    const items = found.map(({ item }) => item)
    const details = await contentDetails(tx, viewer, repository, 'comment', items)
    return details.map((item, index) => ({ item, issue: found[index]!.issue }))
  },
  ({ item, issue }, recipient) => presentItem(item, issue, recipient),
)

export const timelineRoutes = [
  at('/repos/{owner}/{repo}/issues/{index}', {
    tag: 'issue',
    scope: 'issue',
    ids: { index: issueIndex },
  }).list('issueGetCommentsAndTimeline', '/timeline', {
    summary: 'The comments on an issue and what was done to it, the oldest first',
    query: CommentListQuery,
    of: itemView,
    run: async ({ user, repository, params: { index }, query, page, client }, { hosting }) => {
      const which = commentQueryOf(query)
      const found = await hosting.comments.timeline(user, repository, index, page, which, client())
      if (found === undefined) return undefined
      const { issue } = found
      const items = found.page.items.map((item) => ({ item, issue }))
      return pageIn({ repository: found.repository, page: { ...found.page, items } })
    },
  }),
]
