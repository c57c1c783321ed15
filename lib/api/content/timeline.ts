import * as v from 'valibot'
import type { TimelineItem } from '../../content/comment-lists.ts'
import { type ContentDetails, contentDetails } from '../../content/details.ts'
import { NotFound, ValidationError } from '../../http/index.ts'
import type { Issue } from '../../records/schema/index.ts'
import {
  example,
  issueIndex,
  number,
  repositoryNameOf,
  repositoryParams,
  Time,
  text,
  timestamp,
} from '../fields.ts'
import { repositoryUrls } from '../repository-presenter.ts'
import { pageOf, type Recipient, reply, route } from '../route.ts'
import { presentUser, User } from '../users.ts'
import { CommentListQuery, commentQueryOf } from './comments.ts'

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

export const timelineRoutes = [
  route({
    method: 'GET',
    path: '/repos/{owner}/{repo}/issues/{index}/timeline',
    operationId: 'issueGetCommentsAndTimeline',
    tag: 'issue',
    summary: 'The comments on an issue and what was done to it, the oldest first',
    auth: 'optional',
    scope: 'read:issue',
    params: v.object({ ...repositoryParams, index: issueIndex }),
    query: CommentListQuery,
    paging: 'pages',
    responses: { 200: v.array(TimelineComment), 404: NotFound, 422: ValidationError },
    handle: async (request, { store, hosting }) => {
      const { user, params, page, client } = request
      const query = commentQueryOf(request.query)
      const name = repositoryNameOf(params)
      const found = await hosting.comments.timeline(user, name, params.index, page, query, client())
      if (found === undefined) return reply(404)
      const { repository, issue } = found
      const { items, total } = found.page
      const details = await store.read((tx) => contentDetails(tx, user, repository, 'comment', items))
      return pageOf(
        details.map((item) => presentItem(item, issue, request)),
        total,
      )
    },
  }),
]
