import * as v from 'valibot'
import { Forbidden, Html, Ndjson, serializeOnce, ValidationError } from '../http/index.ts'
import { example, number, shortText, text } from './fields.ts'
import { quotaRoute } from './quota/services.ts'
import { reply, route, type Services } from './route.ts'

/** Routes about the server as a whole: its version, its settings, this API's document, the export. */

const ServerVersion = v.object({ Version: text('0.1.0'), version: text('1.22.0+allot-0.1.0') })

/** The version of the Gitea API that clients of Gitea and Forgejo check for. */
const API_LEVEL = '1.22.0'

/** `version` comes last: Go matches members without case, and the last one wins. */
const serverVersion = serializeOnce(({ version }: Services) => ({
  Version: version,
  version: `${API_LEVEL}+allot-${version}`,
}))

const GeneralAPISettings = v.object({
  max_response_items: number(50),
  default_paging_num: number(30),
  default_git_trees_per_page: number(0),
  default_max_blob_size: number(0),
})

const open = { auth: 'optional', tag: 'miscellaneous' } as const

export const serverRoutes = [
  route({
    ...open,
    method: 'GET',
    path: '/version',
    operationId: 'getVersion',
    summary: 'The running application version',
    responses: { 200: ServerVersion },
    handle: async (_request, services) => reply(200, serverVersion(services)),
  }),
  route({
    ...open,
    method: 'GET',
    path: '/settings/api',
    operationId: 'getGeneralAPISettings',
    summary: 'How the lists of this API are paged',
    responses: { 200: GeneralAPISettings },
    handle: async (_request, { pageLimits }) =>
      reply(200, {
        max_response_items: pageLimits.max,
        default_paging_num: pageLimits.default,
        default_git_trees_per_page: 0,
        default_max_blob_size: 0,
      }),
  }),
]

export const documentRoute = quotaRoute({
  ...open,
  method: 'GET',
  path: '/openapi.json',
  operationId: 'getOpenApiDocument',
  summary: 'This API as an OpenAPI 3.1 document',
  responses: { 200: v.looseObject({ openapi: text('3.1.0') }) },
  handle: async ({ apiUrl }, { documentFor }) => reply(200, documentFor(apiUrl)),
})

export const exportRoutes = [
  route({
    method: 'GET',
    path: '/admin/export',
    operationId: 'adminExport',
    tag: 'admin',
    summary: 'Everything, as it is at one moment: for a backup, or to move it to another store',
    auth: 'admin',
    scope: 'read:secrets',
    responses: { 200: Ndjson, 403: Forbidden },
    handle: async (_request, { exportTo }) => reply(200, exportTo),
  }),
]

const address = v.pipe(v.string(), v.maxLength(2048))

/** "`Text`, `Mode`, `Context`, `Wiki` are capitalised in the document, and lower case is taken too." */
const MarkdownOption = v.object({
  Text: v.optional(text('It **works**.')),
  Mode: v.optional(example(shortText, 'gfm')),
  Context: v.optional(address),
  Wiki: v.optional(v.boolean()),
  text: v.optional(v.string()),
  mode: v.optional(shortText),
  context: v.optional(address),
  wiki: v.optional(v.boolean()),
})

export const markdownRoutes = [
  route({
    method: 'POST',
    path: '/markdown',
    operationId: 'renderMarkdown',
    tag: 'miscellaneous',
    summary: 'Render a markdown document as HTML',
    auth: 'optional',
    body: MarkdownOption,
    responses: { 200: Html, 422: ValidationError },
    handle: async ({ body, baseUrl, client, user }, { markdown, hosting }) =>
      reply(
        200,
        await markdown.render(client(), {
          text: body.Text ?? body.text ?? '',
          mode: body.Mode ?? body.mode ?? '',
          context: body.Context ?? body.context ?? '',
          wiki: body.Wiki ?? body.wiki ?? false,
          baseUrl,
          knownNames: (names) => hosting.profiles.visibleNames(user, names),
        }),
      ),
  }),
  route({
    method: 'POST',
    path: '/markdown/raw',
    operationId: 'renderMarkdownRaw',
    tag: 'miscellaneous',
    summary: 'Render raw markdown as HTML',
    auth: 'optional',
    accepts: 'text/plain',
    body: text('It **works**.'),
    responses: { 200: Html, 422: ValidationError },
    handle: async ({ body, baseUrl, client }, { markdown }) =>
      reply(200, await markdown.render(client(), { text: body, mode: 'markdown', baseUrl })),
  }),
]
