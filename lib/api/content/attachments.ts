import * as v from 'valibot'
import type { AttachmentTargetName } from '../../content/attachment-targets.ts'
import { AllotError } from '../../errors.ts'
import { Empty, Forbidden, fileField, NotFound, ValidationError } from '../../http/index.ts'
import { pageOf, reply, route } from '../route.ts'
import { Attachment, attachmentResource } from './attachment-schema.ts'
import { number, repositoryNameOf, repositoryParams, shortText } from './fields.ts'

/** The parts of a form that are not the file, at most. */
const AROUND = 64 * 1024

/** What attachments hang on, and how its paths and operations are called. */
interface On {
  path: string
  /** The segment that says which. */
  by: 'index' | 'id'
  which: (number: number) => AttachmentTargetName
  /** As in `issueCreateIssueAttachment`. */
  operation: `${string} ${string}`
  words: string
  scope: 'issue' | 'repository'
}

const operationId = ({ operation }: On, verb: string, many = ''): string => {
  const [tag, thing] = operation.split(' ')
  return `${tag}${verb}${thing}Attachment${many}`
}

const attachmentsOn = (on: On) => {
  const params = v.object({ ...repositoryParams, [on.by]: number } as typeof repositoryParams & {
    index: typeof number
    id: typeof number
  })
  const one = v.object({ ...params.entries, attachment_id: number })
  const which = (asked: v.InferOutput<typeof params>) => on.which(asked[on.by])
  const path = `/repos/{owner}/{repo}/${on.path}/assets`
  const read = { auth: 'optional', scope: `read:${on.scope}`, tag: on.scope } as const
  const write = { auth: 'required', scope: `write:${on.scope}`, tag: on.scope } as const
  return [
    route({
      ...read,
      method: 'GET',
      path,
      operationId: operationId(on, 'List', 's'),
      summary: `The attachments of ${on.words}`,
      params,
      paging: 'lenient',
      responses: { 200: v.array(Attachment), 404: NotFound },
      handle: async ({ user, params, page, baseUrl }, { hosting }) => {
        const found = await hosting.attachments.list(user, repositoryNameOf(params), which(params), page)
        if (found === undefined) return reply(404)
        return pageOf(
          found.items.map((record) => attachmentResource(record, baseUrl)),
          found.total,
        )
      },
    }),
    route({
      ...write,
      method: 'POST',
      path,
      operationId: operationId(on, 'Create'),
      summary: `Attach a file to ${on.words}: one in a form, as \`attachment\``,
      params,
      query: v.object({ name: v.optional(shortText) }),
      accepts: 'multipart/form-data',
      body: fileField('attachment'),
      responses: { 201: Attachment, 403: Forbidden, 404: NotFound, 422: ValidationError },
      handle: async ({ user, params, query, body, baseUrl }, { hosting, largestAttachment: largest }) => {
        const at = repositoryNameOf(params)
        if (!(await hosting.attachments.mayAdd(user, at, which(params)))) return reply(404)
        if (body.size !== undefined && body.size > largest + AROUND)
          throw new AllotError('too_large', `a file must not be larger than ${largest} bytes`)
        const { name, content } = await body.file()
        const file = { name: query.name || name, content, largest }
        return reply(
          201,
          attachmentResource(await hosting.attachments.add(user, at, which(params), file), baseUrl),
        )
      },
    }),
    route({
      ...read,
      method: 'GET',
      path: `${path}/{attachment_id}`,
      operationId: operationId(on, 'Get'),
      summary: `An attachment of ${on.words}`,
      params: one,
      responses: { 200: Attachment, 404: NotFound },
      handle: async ({ user, params, baseUrl }, { hosting }) => {
        const { attachment_id: id } = params
        const found = await hosting.attachments.find(user, repositoryNameOf(params), which(params), id)
        return found === undefined ? reply(404) : reply(200, attachmentResource(found, baseUrl))
      },
    }),
    route({
      ...write,
      method: 'PATCH',
      path: `${path}/{attachment_id}`,
      operationId: operationId(on, 'Edit'),
      summary: `Give an attachment of ${on.words} another name; answers 201, as a Forgejo does`,
      params: one,
      body: v.object({ name: v.pipe(v.string(), v.maxLength(255)) }),
      responses: { 201: Attachment, 403: Forbidden, 404: NotFound, 422: ValidationError },
      handle: async ({ user, params, body, baseUrl }, { hosting }) => {
        const { attachment_id: id } = params
        const at = repositoryNameOf(params)
        const renamed = await hosting.attachments.rename(user, at, which(params), id, body.name)
        return renamed === undefined ? reply(404) : reply(201, attachmentResource(renamed, baseUrl))
      },
    }),
    route({
      ...write,
      method: 'DELETE',
      path: `${path}/{attachment_id}`,
      operationId: operationId(on, 'Delete'),
      summary: `Delete an attachment of ${on.words}`,
      params: one,
      responses: { 204: Empty, 403: Forbidden, 404: NotFound },
      handle: async ({ user, params }, { hosting }) => {
        const { attachment_id: id } = params
        const removed = await hosting.attachments.remove(user, repositoryNameOf(params), which(params), id)
        return removed ? reply(204) : reply(404)
      },
    }),
  ]
}

export const attachmentRoutes = [
  ...attachmentsOn({
    ...{ path: 'issues/{index}', by: 'index', which: (issue) => ({ issue }) },
    ...{ operation: 'issue Issue', words: 'an issue', scope: 'issue' },
  }),
  ...attachmentsOn({
    ...{ path: 'issues/comments/{id}', by: 'id', which: (comment) => ({ comment }) },
    ...{ operation: 'issue IssueComment', words: 'a comment', scope: 'issue' },
  }),
  ...attachmentsOn({
    ...{ path: 'releases/{id}', by: 'id', which: (release) => ({ release }) },
    ...{ operation: 'repo Release', words: 'a release', scope: 'repository' },
  }),
]
