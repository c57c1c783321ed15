import * as v from 'valibot'
import type { Identity } from '../../accounts/access.ts'
import type { AttachmentTargetName } from '../../content/attachment-targets.ts'
import { AllotError } from '../../errors.ts'
import {
  Empty,
  Forbidden,
  fileField,
  fileReply,
  NotFound,
  type StreamReply,
  type StreamRequest,
  ValidationError,
} from '../../http/index.ts'
import type { Attachment as AttachmentRecord } from '../../records/schema/index.ts'
import {
  attachmentId,
  commentId,
  example,
  type IdParameter,
  issueIndex,
  number,
  parameter,
  releaseId,
  repositoryNameOf,
  repositoryParams,
  shortText,
  Time,
  text,
  timestamp,
} from '../fields.ts'
import { reply, replyEmpty, replyFound, replyPage, route, type StreamServices, stream } from '../route.ts'

export const Attachment = v.object({
  id: number(11),
  name: text('log.txt'),
  /** Bytes */
  size: number(2048),
  download_count: number(0),
  created_at: Time,
  uuid: text('8c5b4d1e-3f0a-4b6e-9d2c-7a1f0e5b9c34'),
  browser_download_url: text('https://code.example.org/attachments/8c5b4d1e-3f0a-4b6e-9d2c-7a1f0e5b9c34'),
  type: v.literal('attachment'),
})

export const presentAttachment = (
  record: AttachmentRecord,
  { baseUrl }: { baseUrl: string },
): v.InferOutput<typeof Attachment> => ({
  id: record.id,
  name: record.name,
  size: record.size,
  download_count: record.downloads,
  created_at: timestamp(record.createdAt),
  uuid: record.uuid,
  browser_download_url: `${baseUrl}/attachments/${record.uuid}`,
  type: 'attachment',
})

/** Maximum size in bytes of the parts of a form around the file. */
const FORM_OVERHEAD = 64 * 1024

/** The differences between the attachment routes of issues, comments and releases. */
interface Target {
  path: string
  /** The path parameter that names the target. */
  param: 'index' | 'id'
  schema: IdParameter
  nameOf: (number: number) => AttachmentTargetName
  /**
   * The parts of an operation id around its verb: of `issueCreateIssueAttachment`, `issue` and
   * `IssueAttachment`.
   */
  operation: readonly [prefix: string, target: string]
  /** Name of the target in summaries. */
  title: string
  scope: 'issue' | 'repository'
}

/** The common part of a target's routes. */
const sharedBy = (target: Target) => {
  const params = v.object({
    ...repositoryParams,
    [target.param]: target.schema,
  } as typeof repositoryParams & {
    index: IdParameter
    id: IdParameter
  })
  return {
    params,
    where: (values: v.InferOutput<typeof params>) =>
      [repositoryNameOf(values), target.nameOf(values[target.param])] as const,
    path: `/repos/{owner}/{repo}/${target.path}/assets` as const,
    read: { auth: 'optional', scope: `read:${target.scope}`, tag: target.scope } as const,
    write: { auth: 'required', scope: `write:${target.scope}`, tag: target.scope } as const,
  }
}

const listRoutesOf = (target: Target) => {
  const { params, where, path, read, write } = sharedBy(target)
  const [prefix, name] = target.operation
  return [
    route({
      ...read,
      method: 'GET',
      path,
      operationId: `${prefix}List${name}Attachments`,
      summary: `The attachments of ${target.title}`,
      params,
      paging: 'pages',
      responses: { 200: v.array(Attachment), 404: NotFound },
      handle: async (request, { hosting }) => {
        const { user, params, page } = request
        const found = await hosting.attachments.list(user, ...where(params), page)
        return found === undefined
          ? reply(404)
          : replyPage(found, (attachment) => presentAttachment(attachment, request))
      },
    }),
    route({
      ...write,
      method: 'POST',
      path,
      operationId: `${prefix}Create${name}Attachment`,
      summary: `Attach a file to ${target.title}: one in a form, as \`attachment\``,
      params,
      query: v.object({
        name: v.optional(parameter(shortText, 'Name of the attachment; that of the file when absent.')),
      }),
      accepts: 'multipart/form-data',
      body: fileField('attachment'),
      responses: { 201: Attachment, 403: Forbidden, 404: NotFound, 422: ValidationError },
      handle: async (request, { hosting, maxAttachmentBytes, maxGuestBytesPerDay: guestLimit }) => {
        const { user, params, query, body } = request
        if (!(await hosting.attachments.findsTarget(user, ...where(params)))) return reply(404)
        if (body.size !== undefined && body.size > maxAttachmentBytes + FORM_OVERHEAD)
          throw new AllotError('too_large', `a file must not be larger than ${maxAttachmentBytes} bytes`)
        const { name, content } = await body.file()
        const file = { name: query.name || name, content, maxSize: maxAttachmentBytes, guestLimit }
        const added = await hosting.attachments.add(user, ...where(params), file)
        return reply(201, presentAttachment(added, request))
      },
    }),
  ]
}

const attachmentRoutesOf = (target: Target) => {
  const { params: targetParams, where, path, read, write } = sharedBy(target)
  const [prefix, name] = target.operation
  const params = v.object({ ...targetParams.entries, attachment_id: attachmentId })
  return [
    route({
      ...read,
      method: 'GET',
      path: `${path}/{attachment_id}`,
      operationId: `${prefix}Get${name}Attachment`,
      summary: `An attachment of ${target.title}`,
      params,
      responses: { 200: Attachment, 404: NotFound },
      handle: async (request, { hosting }) => {
        const { user, params } = request
        const found = await hosting.attachments.find(user, ...where(params), params.attachment_id)
        return replyFound(found, (attachment) => presentAttachment(attachment, request))
      },
    }),
    route({
      ...write,
      method: 'PATCH',
      path: `${path}/{attachment_id}`,
      operationId: `${prefix}Edit${name}Attachment`,
      summary: `Give an attachment of ${target.title} another name; answers 201, as a Forgejo does`,
      params,
      body: v.object({ name: example(shortText, 'build.txt') }),
      responses: { 201: Attachment, 403: Forbidden, 404: NotFound, 422: ValidationError },
      handle: async (request, { hosting }) => {
        const { user, params, body } = request
        const { attachment_id: id } = params
        const renamed = await hosting.attachments.rename(user, ...where(params), id, body.name)
        return renamed === undefined ? reply(404) : reply(201, presentAttachment(renamed, request))
      },
    }),
    route({
      ...write,
      method: 'DELETE',
      path: `${path}/{attachment_id}`,
      operationId: `${prefix}Delete${name}Attachment`,
      summary: `Delete an attachment of ${target.title}`,
      params,
      responses: { 204: Empty, 403: Forbidden, 404: NotFound },
      handle: async ({ user, params }, { hosting }) =>
        replyEmpty(await hosting.attachments.remove(user, ...where(params), params.attachment_id)),
    }),
  ]
}

const targets: readonly Target[] = [
  {
    path: 'issues/{index}',
    param: 'index',
    schema: issueIndex,
    nameOf: (issue) => ({ issue }),
    operation: ['issue', 'Issue'],
    title: 'an issue',
    scope: 'issue',
  },
  {
    path: 'issues/comments/{id}',
    param: 'id',
    schema: commentId,
    nameOf: (comment) => ({ comment }),
    operation: ['issue', 'IssueComment'],
    title: 'a comment',
    scope: 'issue',
  },
  {
    path: 'releases/{id}',
    param: 'id',
    schema: releaseId,
    nameOf: (release) => ({ release }),
    operation: ['repo', 'Release'],
    title: 'a release',
    scope: 'repository',
  },
]

export const attachmentRoutes = targets.flatMap((target) => [
  ...listRoutesOf(target),
  ...attachmentRoutesOf(target),
])

/**
 * Replies with the file, which is read, and so counted, only when its content is sent.
 * @throws AllotError not_found when the attachment does not exist or its issue or release is hidden from the
 * client
 */
const download = async (
  { user, params, headers, whileAllowed }: StreamRequest<Identity, 'uuid'>,
  { hosting }: StreamServices,
): Promise<StreamReply> => {
  const open = async (user: Identity | null) => {
    const found = await hosting.attachments.open(user, params.uuid)
    if (found === undefined) throw new AllotError('not_found', 'there is no such attachment')
    return found
  }
  const found = await open(user)
  whileAllowed(open)
  return fileReply(headers, found)
}

/** The files themselves, at the `browser_download_url` of each attachment. */
export const downloadRoutes = [
  stream({ method: 'GET', path: '/attachments/{uuid}', handle: download }),
  stream({ method: 'HEAD', path: '/attachments/{uuid}', handle: download }),
]
