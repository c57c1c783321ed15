import * as v from 'valibot'
import type { Identity } from '../../accounts/access.ts'
import type { AttachmentTargetName } from '../../content/attachment-targets.ts'
import { AllotError, existing } from '../../errors.ts'
import { fileField, fileReply, type StreamReply, type StreamRequest } from '../../http/index.ts'
import type { Attachment as AttachmentRecord } from '../../records/schema/index.ts'
import type { RepositoryName } from '../../repositories/names.ts'
import * as f from '../fields.ts'
import { at, type Recipient, type Services, stream } from '../route.ts'
import { resource } from '../view.ts'

export const attachmentView = resource<AttachmentRecord>()({
  id: [f.number(11), ({ id }) => id],
  name: [f.text('log.txt'), ({ name }) => name],
  /** Bytes */
  size: [f.number(2048), ({ size }) => size],
  download_count: [f.number(0), ({ downloads }) => downloads],
  created_at: [f.Time, ({ createdAt }) => f.timestamp(createdAt)],
  uuid: [f.text('8c5b4d1e-3f0a-4b6e-9d2c-7a1f0e5b9c34'), ({ uuid }) => uuid],
  browser_download_url: [
    f.link('/attachments/8c5b4d1e-3f0a-4b6e-9d2c-7a1f0e5b9c34'),
    ({ uuid }, { baseUrl }) => `${baseUrl}/attachments/${uuid}`,
  ],
  type: [v.literal('attachment'), () => 'attachment' as const],
})

/** The files of an issue, a comment or a release. */
export const assets = [
  v.array(attachmentView.schema),
  ({ attachments }: { readonly attachments: readonly AttachmentRecord[] }, recipient: Recipient) =>
    attachments.map((attachment) => attachmentView.present(attachment, recipient)),
] as const

/** Maximum size in bytes of the parts of a form around the file. */
const FORM_OVERHEAD = 64 * 1024

/** The differences between the attachment routes of issues, comments and releases. */
interface Target {
  /** Path below that of the repository. */
  path: 'issues/{index}' | 'issues/comments/{id}' | 'releases/{id}'
  schema: f.IdParameter
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

const routesOf = ({ path, schema, nameOf, operation: [prefix, name], title, scope }: Target) => {
  const ids = { index: schema, id: schema, attachment_id: f.attachmentId }
  const routes = at(`/repos/{owner}/{repo}/${path}/assets`, { tag: scope, scope, ids })
  const where = (request: { repository: RepositoryName; params: { index: number } | { id: number } }) => {
    const { repository, params } = request
    return [repository, nameOf('index' in params ? params.index : params.id)] as const
  }
  return [
    routes.list(`${prefix}List${name}Attachments`, '', {
      summary: `The attachments of ${title}`,
      of: attachmentView,
      run: (request, { hosting }) => hosting.attachments.list(request.user, ...where(request), request.page),
    }),
    routes.post(`${prefix}Create${name}Attachment`, '', {
      summary: `Attach a file to ${title}: one in a form, as \`attachment\``,
      query: v.object({
        name: f.optionalQuery(f.shortText, 'Name of the attachment; that of the file when absent.'),
      }),
      accepts: 'multipart/form-data',
      body: fileField('attachment'),
      of: attachmentView,
      run: async (request, { hosting, options }) => {
        const { user, query, body } = request
        const { maxSize, maxGuestBytesPerDay: guestLimit } = options.attachments
        if (!(await hosting.attachments.findsTarget(user, ...where(request)))) return undefined
        if (body.size !== undefined && body.size > maxSize + FORM_OVERHEAD)
          throw new AllotError('too_large', `a file must not be larger than ${maxSize} bytes`)
        const { name, content } = await body.file()
        const file = { name: query.name || name, content, maxSize, guestLimit }
        return hosting.attachments.add(user, ...where(request), file)
      },
    }),
    routes.get(`${prefix}Get${name}Attachment`, '/{attachment_id}', {
      summary: `An attachment of ${title}`,
      of: attachmentView,
      run: (request, { hosting }) =>
        hosting.attachments.find(request.user, ...where(request), request.params.attachment_id),
    }),
    routes.patch(`${prefix}Edit${name}Attachment`, '/{attachment_id}', {
      summary: `Give an attachment of ${title} another name; answers 201, as a Forgejo does`,
      body: v.object({ name: f.example(f.shortText, 'build.txt') }),
      of: attachmentView,
      status: 201,
      run: (request, { hosting }) => {
        const { user, params, body } = request
        return hosting.attachments.rename(user, ...where(request), params.attachment_id, body.name)
      },
    }),
    routes.delete(`${prefix}Delete${name}Attachment`, '/{attachment_id}', {
      summary: `Delete an attachment of ${title}`,
      run: (request, { hosting }) =>
        hosting.attachments.remove(request.user, ...where(request), request.params.attachment_id),
    }),
  ]
}

const targets: readonly Target[] = [
  {
    path: 'issues/{index}',
    schema: f.issueIndex,
    nameOf: (issue) => ({ issue }),
    operation: ['issue', 'Issue'],
    title: 'an issue',
    scope: 'issue',
  },
  {
    path: 'issues/comments/{id}',
    schema: f.commentId,
    nameOf: (comment) => ({ comment }),
    operation: ['issue', 'IssueComment'],
    title: 'a comment',
    scope: 'issue',
  },
  {
    path: 'releases/{id}',
    schema: f.releaseId,
    nameOf: (release) => ({ release }),
    operation: ['repo', 'Release'],
    title: 'a release',
    scope: 'repository',
  },
]

export const attachmentRoutes = targets.flatMap(routesOf)

/**
 * Replies with the file, which is read, and so counted, only when its content is sent.
 * @throws AllotError not_found when the attachment does not exist or its issue or release is hidden from the
 * client
 */
const download = async (
  { user, params, headers, whileAllowed }: StreamRequest<Identity, 'uuid'>,
  { hosting }: Services,
): Promise<StreamReply> => {
  const open = async (user: Identity | null) => {
    return existing(await hosting.attachments.open(user, params.uuid), 'there is no such attachment')
  }
  const found = await open(user)
  whileAllowed(open)
  return fileReply(headers, found)
}

/** The files, at the `browser_download_url` of each attachment; other paths may be a host's own. */
export const downloadRoutes = [
  stream({ method: 'GET', path: '/attachments/{uuid}', matching: '^[\\da-f-]{36}$', handle: download }),
]
