import * as v from 'valibot'
import type { Identity } from '../accounts/access.ts'
import { Html, Ndjson, type Route } from '../http/index.ts'
import { VERSION } from '../version.ts'
import * as f from './fields.ts'
import { TREE_PAGE } from './git/refs.ts'
import { DEFAULT_THEME } from './profile.ts'
import { quotaAt } from './quota/services.ts'
import { at, type Services } from './route.ts'

/** Routes about the server as a whole: its version, its settings, this API's document, the export. */

const ServerVersion = v.object({ Version: f.text('0.1.0'), version: f.text('1.22.0+allot-0.1.0') })

/**
 * The version of the Gitea API that clients of Gitea and Forgejo check for. In the dialect `forgejo` clients
 * also find what the API has had since 1.24, such as other names for branches.
 */
const API_LEVEL: Record<Services['options']['dialect'], string> = {
  specification: '1.22.0',
  forgejo: '1.24.0',
}

const GeneralAPISettings = v.object({
  max_response_items: f.number(50),
  default_paging_num: f.number(30),
  default_git_trees_per_page: f.number(1000),
  default_max_blob_size: f.number(16_777_216),
})

const GeneralUISettings = v.object({
  default_theme: f.text('gitea-auto'),
  /** Allot has no reactions. */
  allowed_reactions: v.array(f.text('+1')),
  custom_emojis: v.array(f.text('git')),
})

const off = f.example(v.boolean(), false)

const GeneralRepoSettings = v.object({
  mirrors_disabled: v.boolean(),
  http_git_disabled: off,
  migrations_disabled: v.boolean(),
  stars_disabled: off,
  forks_disabled: off,
  time_tracking_disabled: v.boolean(),
  lfs_disabled: off,
})

const GeneralAttachmentSettings = v.object({
  enabled: f.example(v.boolean(), true),
  allowed_types: f.text('*/*'),
  max_size: f.number(100),
  max_files: f.number(1),
})

const facts = { tag: 'miscellaneous' } as const
const server = at('', facts)

export const serverRoutes = [
  server.get('getVersion', '/version', {
    summary: 'The running application version',
    cached: true,
    of: ServerVersion,
    run: async (_request, { options }) =>
      // `version` comes last: Go matches members without case, and the last one wins.
      ({ Version: VERSION, version: `${API_LEVEL[options.dialect]}+allot-${VERSION}` }),
  }),
  server.get('getGeneralAPISettings', '/settings/api', {
    summary: 'How the lists of this API are paged',
    of: GeneralAPISettings,
    run: async (_request, { settings: { pageLimits, maxBlobBytes } }) => ({
      max_response_items: pageLimits.max,
      default_paging_num: pageLimits.default,
      default_git_trees_per_page: TREE_PAGE,
      default_max_blob_size: maxBlobBytes,
    }),
  }),
  server.get('getGeneralUISettings', '/settings/ui', {
    summary: 'The theme of users who have not chosen one, and the reactions: there are none',
    of: GeneralUISettings,
    run: async () => ({ default_theme: DEFAULT_THEME, allowed_reactions: [], custom_emojis: [] }),
  }),
  server.get('getGeneralRepositorySettings', '/settings/repository', {
    summary: 'What repositories do not have',
    of: GeneralRepoSettings,
    run: async (_request, { settings }) => ({
      mirrors_disabled: true,
      http_git_disabled: !settings.clones,
      migrations_disabled: true,
      stars_disabled: false,
      forks_disabled: !settings.hasForks,
      time_tracking_disabled: true,
      lfs_disabled: !settings.hasLfs,
    }),
  }),
  server.get('getGeneralAttachmentSettings', '/settings/attachment', {
    summary:
      'Which attachments are taken: `max_size` is in MiB, `max_files` the number of files in an upload',
    of: GeneralAttachmentSettings,
    run: async (_request, { options }) => ({
      enabled: options.issues,
      allowed_types: '*/*',
      max_size: Math.ceil(options.attachments.maxSize / 1024 ** 2),
      max_files: 1,
    }),
  }),
]

export const documentRoute = quotaAt('', facts).get('getOpenApiDocument', '/openapi.json', {
  summary: 'This API as an OpenAPI 3.1 document',
  of: v.looseObject({ openapi: f.text('3.1.0') }),
  run: ({ apiUrl }, { documentFor }) => documentFor(apiUrl),
})

/**
 * The document with the URL of a request, and the name of the service for its title. The first request loads
 * what makes it: most servers never get one.
 */
export const documentOf = (
  served: readonly Route<Identity, never>[],
  title: string,
): Services['documentFor'] => {
  let document: Promise<{ openapi: string }> | undefined
  const load = async (apiUrl: string) => {
    const { apiDocument } = await import('./document.ts')
    return apiDocument(apiUrl, VERSION, served, title) as { openapi: string }
  }
  return async (apiUrl) => {
    document ??= load(apiUrl).catch((error) => {
      document = undefined
      throw error
    })
    return { ...(await document), servers: [{ url: apiUrl }] } as { openapi: string }
  }
}

const address = v.pipe(v.string(), v.maxLength(2048))

export const exportRoutes = [
  at('/admin/export', { tag: 'admin', scope: 'secrets', reads: 'admin' }).get('adminExport', '', {
    summary: 'Everything, as it is at one moment: for a backup, or to move it to another store',
    of: Ndjson,
    run: async (_request, { exportTo }) => exportTo,
  }),
]

/** Forgejo's clients send capitalized names; names in lower case are accepted, too. */
const MarkdownOption = v.object({
  Text: v.optional(f.text('It **works**.')),
  Mode: v.optional(f.example(f.shortText, 'gfm')),
  Context: v.optional(address),
  Wiki: v.optional(v.boolean()),
  text: v.optional(v.string()),
  mode: v.optional(f.shortText),
  context: v.optional(address),
  wiki: v.optional(v.boolean()),
})

export const markdownRoutes = [
  server.get('renderMarkdown', '/markdown', {
    method: 'POST',
    summary: 'Render a markdown document as HTML',
    body: MarkdownOption,
    of: Html,
    run: ({ body, baseUrl, client, user }, { markdown, hosting }) =>
      markdown.render(client(), {
        text: body.Text ?? body.text ?? '',
        mode: body.Mode ?? body.mode ?? '',
        context: body.Context ?? body.context ?? '',
        wiki: body.Wiki ?? body.wiki ?? false,
        baseUrl,
        knownNames: (names) => hosting.profiles.visibleNames(user, names),
      }),
  }),
  server.get('renderMarkdownRaw', '/markdown/raw', {
    method: 'POST',
    summary: 'Render raw markdown as HTML',
    accepts: 'text/plain',
    body: f.text('It **works**.'),
    of: Html,
    run: ({ body, baseUrl, client }, { markdown }) =>
      markdown.render(client(), { text: body, mode: 'markdown', baseUrl }),
  }),
]
