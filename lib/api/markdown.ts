import * as v from 'valibot'
import { Html, ValidationError } from '../http/index.ts'
import { shortText } from './fields.ts'
import { reply, route } from './route.ts'

const address = v.pipe(v.string(), v.maxLength(2048))

/** "`Text`, `Mode`, `Context`, `Wiki` are capitalised in the document, and lower case is taken too." */
const MarkdownOption = v.object({
  Text: v.optional(v.string()),
  Mode: v.optional(shortText),
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
        await markdown.render(client, {
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
    body: v.string(),
    responses: { 200: Html, 422: ValidationError },
    handle: async ({ body, baseUrl, client }, { markdown }) =>
      reply(200, await markdown.render(client, { text: body, mode: 'markdown', baseUrl })),
  }),
]
