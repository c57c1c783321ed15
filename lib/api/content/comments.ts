import * as v from 'valibot'
import type { FoundComment } from '../../content/comments.ts'
import { type ContentDetails, contentDetails } from '../../content/details.ts'
import type { FoundIssue } from '../../content/issues.ts'
import { Empty, Forbidden, NotFound, ValidationError } from '../../http/index.ts'
import type { Comment as CommentRecord, Issue } from '../../records/schema/index.ts'
import {
  commentId,
  example,
  issueIndex,
  longText,
  number,
  repositoryNameOf,
  repositoryParams,
  Time,
  text,
  timestamp,
} from '../fields.ts'
import { repositoryUrls } from '../repository-presenter.ts'
import { pageOf, type Recipient, reply, replyEmpty, route, type Services } from '../route.ts'
import { presentUser, User } from '../users.ts'
import { Attachment, presentAttachment } from './attachments.ts'

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

const presentComment = (
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

const readComments = async (
  { store }: Services,
  request: Recipient,
  { repository, issue }: FoundIssue,
  records: readonly CommentRecord[],
): Promise<Comment[]> => {
  const details = await store.read((tx) => contentDetails(tx, request.user, repository, 'comment', records))
  return details.map((comment) => presentComment(comment, issue, request))
}

const replyComment = async <const Status extends 200 | 201>(
  services: Services,
  request: Recipient,
  status: Status,
  found: FoundComment | undefined,
) => {
  if (found === undefined) return reply(404)
  const [comment] = await readComments(services, request, found, [found.comment])
  return reply(status, comment!)
}

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
    paging: 'lenient',
    responses: { 200: v.array(Comment), 404: NotFound },
    handle: async (request, services) => {
      const { user, params, page } = request
      const found = await services.hosting.comments.list(user, repositoryNameOf(params), params.index, page)
      if (found === undefined) return reply(404)
      const { items, total } = found.page
      return pageOf(await readComments(services, request, found, items), total)
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
      return replyComment(services, request, 201, created)
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
      return replyComment(services, request, 200, found)
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
      return replyComment(services, request, 200, edited)
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
