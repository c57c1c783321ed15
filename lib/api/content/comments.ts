import * as v from 'valibot'
import type { FoundComment } from '../../content/comments.ts'
import { type ContentDetails, contentDetails } from '../../content/details.ts'
import { Empty, Forbidden, NotFound, ValidationError } from '../../http/index.ts'
import type { Comment as CommentRecord, Issue, Repository } from '../../records/schema/index.ts'
import {
  commentId,
  example,
  issueIndex,
  longText,
  Moment,
  number,
  parameter,
  repositoryNameOf,
  repositoryParams,
  secondsOf,
  Time,
  text,
  timestamp,
} from '../fields.ts'
import { repositoryUrls } from '../repository-presenter.ts'
import { type Recipient, reply, replyEmpty, route, type Services } from '../route.ts'
import { presentUser, User } from '../users.ts'
import { Attachment, presentAttachment } from './attachments.ts'
import { contentReplies } from './replies.ts'

export const Comment = v.object({
  id: number(9),
  html_url: text('https://code.example.org/alice/app/issues/1#issuecomment-9'),
  pull_request_url: text(''),
  issue_url: text('https://code.example.org/alice/app/issues/1'),
  user: User,
  original_author: text(''),
  original_author_id: number(0),
  body: text('A newer compiler helps.'),
  assets: v.array(Attachment),
  created_at: Time,
  updated_at: Time,
})
type Comment = v.InferOutput<typeof Comment>

export const presentComment = (
  details: ContentDetails<CommentRecord>,
  issue: Issue,
  recipient: Recipient,
): Comment => {
  const { record, author, attachments } = details
  const { baseUrl, htmlUrls } = recipient
  const page = { ...repositoryUrls(details, recipient).name, index: issue.number }
  return {
    id: record.id,
    html_url: htmlUrls.of({ kind: 'comment', ...page, id: record.id }, baseUrl),
    pull_request_url: '',
    issue_url: htmlUrls.of({ kind: 'issue', ...page }, baseUrl),
    user: presentUser(author, recipient),
    original_author: '',
    original_author_id: 0,
    body: record.body,
    assets: attachments.map((attachment) => presentAttachment(attachment, recipient)),
    created_at: timestamp(record.createdAt),
    updated_at: timestamp(record.updatedAt),
  }
}

/** @param comments of one repository, each with its issue */
const readComments = async (
  { store }: Services,
  request: Recipient,
  repository: Repository,
  comments: readonly { readonly comment: CommentRecord; readonly issue: Issue }[],
): Promise<Comment[]> => {
  const records = comments.map(({ comment }) => comment)
  const details = await store.read((tx) => contentDetails(tx, request.user, repository, 'comment', records))
  return details.map((comment, index) => presentComment(comment, comments[index]!.issue, request))
}

const replies = contentReplies(readComments, (found: FoundComment) => found)

export const CommentListQuery = v.object({
  since: v.optional(parameter(Moment, 'Only those that were changed at this time or after it.')),
  before: v.optional(parameter(Moment, 'Only those that were changed at this time or before it.')),
})

/** @throws AllotError invalid for a day that does not exist */
export const commentQueryOf = ({ since, before }: v.InferOutput<typeof CommentListQuery>) => ({
  since: secondsOf(since),
  before: secondsOf(before),
})

const onIssue = v.object({ ...repositoryParams, index: issueIndex })
const params = v.object({ ...repositoryParams, id: commentId })
const body = v.object({ body: example(v.pipe(longText, v.minLength(1)), 'A newer compiler helps.') })

const read = { auth: 'optional', scope: 'read:issue', tag: 'issue' } as const
const write = { auth: 'required', scope: 'write:issue', tag: 'issue' } as const

export const commentRoutes = [
  route({
    ...read,
    method: 'GET',
    path: '/repos/{owner}/{repo}/issues/{index}/comments',
    operationId: 'issueGetComments',
    summary: 'The comments on an issue, the oldest first',
    params: onIssue,
    query: CommentListQuery,
    paging: 'pages',
    responses: { 200: v.array(Comment), 404: NotFound, 422: ValidationError },
    handle: async (request, services) => {
      const { user, params, page, client } = request
      const { comments } = services.hosting
      const name = repositoryNameOf(params)
      const query = commentQueryOf(request.query)
      const found = await comments.list(user, name, params.index, page, query, client())
      if (found === undefined) return reply(404)
      const { issue, repository } = found
      const items = found.page.items.map((comment) => ({ comment, issue }))
      return replies.page(services, request, { repository, page: { ...found.page, items } })
    },
  }),
  route({
    ...read,
    method: 'GET',
    path: '/repos/{owner}/{repo}/issues/comments',
    operationId: 'issueGetRepoComments',
    summary: "The comments on all of a repository's issues, the oldest first",
    query: CommentListQuery,
    paging: 'pages',
    responses: { 200: v.array(Comment), 404: NotFound, 422: ValidationError },
    handle: async (request, services) => {
      const { user, params, page, client } = request
      const query = commentQueryOf(request.query)
      const name = repositoryNameOf(params)
      const found = await services.hosting.comments.listAll(user, name, page, query, client())
      return replies.page(services, request, found)
    },
  }),
  route({
    ...write,
    method: 'POST',
    path: '/repos/{owner}/{repo}/issues/{index}/comments',
    operationId: 'issueCreateComment',
    summary: 'Comment on an issue',
    params: onIssue,
    body,
    responses: { 201: Comment, 403: Forbidden, 404: NotFound, 422: ValidationError },
    handle: async (request, services) => {
      const { user, params, body } = request
      const repository = repositoryNameOf(params)
      const created = await services.hosting.comments.create(user, repository, params.index, body.body)
      return replies.one(services, request, 201, created)
    },
  }),
  route({
    ...read,
    method: 'GET',
    path: '/repos/{owner}/{repo}/issues/comments/{id}',
    operationId: 'issueGetComment',
    summary: 'A comment',
    params,
    responses: { 200: Comment, 404: NotFound },
    handle: async (request, services) => {
      const { user, params } = request
      const found = await services.hosting.comments.find(user, repositoryNameOf(params), params.id)
      return replies.one(services, request, 200, found)
    },
  }),
  route({
    ...write,
    method: 'PATCH',
    path: '/repos/{owner}/{repo}/issues/comments/{id}',
    operationId: 'issueEditComment',
    summary: 'Change a comment',
    params,
    body,
    responses: { 200: Comment, 403: Forbidden, 404: NotFound, 422: ValidationError },
    handle: async (request, services) => {
      const { user, params, body } = request
      const repository = repositoryNameOf(params)
      const edited = await services.hosting.comments.edit(user, repository, params.id, body.body)
      return replies.one(services, request, 200, edited)
    },
  }),
  route({
    ...write,
    method: 'DELETE',
    path: '/repos/{owner}/{repo}/issues/comments/{id}',
    operationId: 'issueDeleteComment',
    summary: 'Delete a comment',
    params,
    responses: { 204: Empty, 403: Forbidden, 404: NotFound },
    handle: async ({ user, params }, { hosting }) =>
      replyEmpty(await hosting.comments.remove(user, repositoryNameOf(params), params.id)),
  }),
]
