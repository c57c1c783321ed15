import * as v from 'valibot'
import type { FoundComment } from '../../content/comments.ts'
import { type ContentDetails, contentDetails } from '../../content/details.ts'
import type { Comment as CommentRecord, Issue } from '../../records/schema/index.ts'
import {
  commentId,
  example,
  issueIndex,
  longText,
  Moment,
  number,
  parameter,
  secondsOf,
  Time,
  text,
  timestamp,
} from '../fields.ts'
import { at } from '../route.ts'
import { resource } from '../view.ts'
import { assets } from './attachments.ts'
import { oneOf, onIssue, pageIn, viewInRepository } from './found.ts'

const comment = resource<ContentDetails<CommentRecord> & { readonly issue: Issue }>()({
  id: [number(9), ({ record }) => record.id],
  ...onIssue,
  original_author: [text(''), () => ''],
  original_author_id: [number(0), () => 0],
  body: [text('A newer compiler helps.'), ({ record }) => record.body],
  assets,
  created_at: [Time, ({ record }) => timestamp(record.createdAt)],
  updated_at: [Time, ({ record }) => timestamp(record.updatedAt)],
})
export const Comment = comment.schema
export const presentComment = comment.present

interface CommentOnIssue {
  readonly comment: CommentRecord
  readonly issue: Issue
}

const commentView = viewInRepository(
  Comment,
  async (tx, viewer, repository, found: readonly CommentOnIssue[]) => {
    const records = found.map(({ comment }) => comment)
    const details = await contentDetails(tx, viewer, repository, 'comment', records)
    return details.map((comment, index) => ({ ...comment, issue: found[index]!.issue }))
  },
  presentComment,
)

const commentOf = (found: FoundComment): CommentOnIssue => found

export const CommentListQuery = v.object({
  since: v.optional(parameter(Moment, 'Only those that were changed at this time or after it.')),
  before: v.optional(parameter(Moment, 'Only those that were changed at this time or before it.')),
})

/** @throws AllotError invalid for a day that does not exist */
export const commentQueryOf = ({ since, before }: v.InferOutput<typeof CommentListQuery>) => ({
  since: secondsOf(since),
  before: secondsOf(before),
})

const body = v.object({ body: example(v.pipe(longText, v.minLength(1)), 'A newer compiler helps.') })

const comments = at('/repos/{owner}/{repo}/issues', {
  tag: 'issue',
  scope: 'issue',
  ids: { index: issueIndex, id: commentId },
})

export const commentRoutes = [
  comments.list('issueGetComments', '/{index}/comments', {
    summary: 'The comments on an issue, the oldest first',
    query: CommentListQuery,
    of: commentView,
    run: async ({ user, repository, params, query, page, client }, { hosting }) => {
      const { index } = params
      const found = await hosting.comments.list(
        user,
        repository,
        index,
        page,
        commentQueryOf(query),
        client(),
      )
      if (found === undefined) return undefined
      const { issue } = found
      const items = found.page.items.map((comment) => ({ comment, issue }))
      return pageIn({ repository: found.repository, page: { ...found.page, items } })
    },
  }),
  comments.list('issueGetRepoComments', '/comments', {
    summary: "The comments on all of a repository's issues, the oldest first",
    query: CommentListQuery,
    of: commentView,
    run: async ({ user, repository, query, page, client }, { hosting }) =>
      pageIn(await hosting.comments.listAll(user, repository, page, commentQueryOf(query), client())),
  }),
  comments.post('issueCreateComment', '/{index}/comments', {
    summary: 'Comment on an issue',
    body,
    of: commentView,
    run: async ({ user, repository, params, body }, { hosting }) =>
      oneOf(await hosting.comments.create(user, repository, params.index, body.body), commentOf),
  }),
  comments.get('issueGetComment', '/comments/{id}', {
    summary: 'A comment',
    of: commentView,
    run: async ({ user, repository, params }, { hosting }) =>
      oneOf(await hosting.comments.find(user, repository, params.id), commentOf),
  }),
  comments.patch('issueEditComment', '/comments/{id}', {
    summary: 'Change a comment',
    body,
    of: commentView,
    run: async ({ user, repository, params, body }, { hosting }) =>
      oneOf(await hosting.comments.edit(user, repository, params.id, body.body), commentOf),
  }),
  comments.delete('issueDeleteComment', '/comments/{id}', {
    summary: 'Delete a comment',
    run: ({ user, repository, params }, { hosting }) => hosting.comments.remove(user, repository, params.id),
  }),
]
