import * as v from 'valibot'
import type { TimelineItem } from '../../content/comment-lists.ts'
import type { ContentDetails } from '../../content/details.ts'
import type { Comment as CommentRecord, Issue } from '../../records/schema/index.ts'
import * as f from '../fields.ts'
import { at } from '../route.ts'
import { resource } from '../view.ts'
import { assets } from './attachments.ts'
import { detailsOnIssues, onIssue, pageIn, viewInRepository } from './found.ts'

const comment = resource<ContentDetails<CommentRecord> & { readonly issue: Issue }>()({
  id: [f.number(9), ({ record }) => record.id],
  ...onIssue,
  original_author: [f.text(''), () => ''],
  original_author_id: [f.number(0), () => 0],
  body: [f.text('A newer compiler helps.'), ({ record }) => record.body],
  assets,
  created_at: [f.Time, ({ record }) => f.timestamp(record.createdAt)],
  updated_at: [f.Time, ({ record }) => f.timestamp(record.updatedAt)],
})
export const Comment = comment.schema
export const presentComment = comment.present

const commentView = viewInRepository(comment, detailsOnIssues<CommentRecord>)

/**
 * An event of a timeline. Members for labels, milestones and references, which Allot does not have, are left
 * out.
 */
const timelineComment = resource<ContentDetails<TimelineItem> & { readonly issue: Issue }>()({
  id: [f.number(9), ({ record }) => record.id],
  type: [
    f.example(v.picklist(['comment', 'close', 'reopen', 'change_title']), 'comment'),
    ({ record }) => ('kind' in record ? record.kind : 'comment'),
  ],
  ...onIssue,
  body: [f.text('A newer compiler helps.'), ({ record }) => ('kind' in record ? '' : record.body)],
  old_title: [f.text(''), ({ record }) => ('kind' in record && record.oldTitle) || ''],
  new_title: [f.text(''), ({ record }) => ('kind' in record && record.newTitle) || ''],
  created_at: [f.Time, ({ record }) => f.timestamp(record.createdAt)],
  updated_at: [f.Time, ({ record }) => f.timestamp('kind' in record ? record.createdAt : record.updatedAt)],
})

const itemView = viewInRepository(timelineComment, detailsOnIssues<TimelineItem>)

const CommentListQuery = v.object({
  since: f.optionalQuery(f.Moment, 'Only those that were changed at this time or after it.'),
  before: f.optionalQuery(f.Moment, 'Only those that were changed at this time or before it.'),
})

/** @throws AllotError invalid for a day that does not exist */
const commentQueryOf = ({ since, before }: v.InferOutput<typeof CommentListQuery>) => ({
  since: f.secondsOf(since),
  before: f.secondsOf(before),
})

const body = v.object({ body: f.example(v.pipe(f.longText, v.minLength(1)), 'A newer compiler helps.') })

const comments = at('/repos/{owner}/{repo}/issues', {
  scope: 'issue',
  ids: { index: f.issueIndex, id: f.commentId },
})

export const commentRoutes = [
  comments.list('issueGetComments', '/{index}/comments', {
    summary: 'The comments on an issue, the oldest first',
    query: CommentListQuery,
    of: commentView,
    run: async ({ user, repository, params, query, page, client }, { hosting }) => {
      const which = commentQueryOf(query)
      const found = await hosting.comments.list(user, repository, params.index, page, which, client())
      return pageIn(found, (comment, { issue }) => ({ comment, issue }))
    },
  }),
  comments.list('issueGetRepoComments', '/comments', {
    summary: "The comments on all of a repository's issues, the oldest first",
    query: CommentListQuery,
    of: commentView,
    run: async ({ user, repository, query, page, client }, { hosting }) => {
      const which = commentQueryOf(query)
      const found = await hosting.comments.listAll(user, repository, page, which, client())
      return pageIn(found, (commentOnIssue) => commentOnIssue)
    },
  }),
  comments.post('issueCreateComment', '/{index}/comments', {
    summary: 'Comment on an issue',
    body,
    of: commentView,
    run: ({ user, repository, params, body }, { hosting }) =>
      hosting.comments.create(user, repository, params.index, body.body),
  }),
  comments.get('issueGetComment', '/comments/{id}', {
    summary: 'A comment',
    of: commentView,
    run: ({ user, repository, params }, { hosting }) => hosting.comments.find(user, repository, params.id),
  }),
  comments.patch('issueEditComment', '/comments/{id}', {
    summary: 'Change a comment',
    body,
    of: commentView,
    run: ({ user, repository, params, body }, { hosting }) =>
      hosting.comments.edit(user, repository, params.id, body.body),
  }),
  comments.delete('issueDeleteComment', '/comments/{id}', {
    summary: 'Delete a comment',
    run: ({ user, repository, params }, { hosting }) => hosting.comments.remove(user, repository, params.id),
  }),
  comments.list('issueGetCommentsAndTimeline', '/{index}/timeline', {
    summary: 'The comments on an issue and what was done to it, the oldest first',
    query: CommentListQuery,
    of: itemView,
    run: async ({ user, repository, params: { index }, query, page, client }, { hosting }) => {
      const which = commentQueryOf(query)
      const found = await hosting.comments.timeline(user, repository, index, page, which, client())
      return pageIn(found, (comment, { issue }) => ({ comment, issue }))
    },
  }),
]
