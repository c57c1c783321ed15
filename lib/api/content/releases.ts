import * as v from 'valibot'
import { type ContentDetails, contentDetails } from '../../content/details.ts'
import type { FoundRelease, ReleaseEdit, WhichRelease } from '../../content/releases.ts'
import { Empty, ErrorBody, Forbidden, NotFound, ValidationError } from '../../http/index.ts'
import type { Release as ReleaseRecord, Repository } from '../../records/schema/index.ts'
import {
  type Complete,
  example,
  longText,
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
import { repositoryUrls } from '../repository-presenter.ts'
import { type Recipient, replyEmpty, repositoryWrite, route, type Services } from '../route.ts'
import { presentUser, User } from '../users.ts'
import { Attachment, presentAttachment } from './attachments.ts'
import { contentReplies } from './replies.ts'

export const Release = v.object({
  id: number(10),
  tag_name: text('v1.0'),
  target_commitish: text('main'),
  name: text('Version 1.0'),
  body: text('The first release.'),
  url: text('https://code.example.org/api/v1/repos/alice/app/releases/10'),
  html_url: text('https://code.example.org/alice/app/releases/tag/v1.0'),
  /** Always empty: links to the archives are in the tag. */
  tarball_url: text(''),
  zipball_url: text(''),
  hide_archive_links: example(v.boolean(), true),
  upload_url: text('https://code.example.org/api/v1/repos/alice/app/releases/10/assets'),
  draft: v.boolean(),
  prerelease: v.boolean(),
  created_at: Time,
  published_at: v.nullable(Time),
  author: User,
  assets: v.array(Attachment),
  archive_download_count: v.object({ zip: number(0), tar_gz: number(0) }),
})
type Release = v.InferOutput<typeof Release>

export const presentRelease = (details: ContentDetails<ReleaseRecord>, recipient: Recipient): Release => {
  const { record, author, attachments } = details
  const { name, api } = repositoryUrls(details, recipient)
  const url = `${api}/releases/${record.id}`
  return {
    id: record.id,
    tag_name: record.tag,
    target_commitish: record.target,
    name: record.name,
    body: record.body,
    url,
    html_url: recipient.htmlUrls.of({ kind: 'release', ...name, tag: record.tag }, recipient.baseUrl),
    tarball_url: '',
    zipball_url: '',
    hide_archive_links: true,
    upload_url: `${url}/assets`,
    draft: record.draft,
    prerelease: record.prerelease,
    created_at: timestamp(record.createdAt),
    published_at: record.publishedAt === null ? null : timestamp(record.publishedAt),
    author: presentUser(author, recipient),
    assets: attachments.map((attachment) => presentAttachment(attachment, recipient)),
    archive_download_count: { zip: 0, tar_gz: 0 },
  }
}

const readReleases = async (
  { store }: Services,
  request: Recipient,
  repository: Repository,
  records: readonly ReleaseRecord[],
): Promise<Release[]> => {
  const details = await store.read((tx) => contentDetails(tx, request.user, repository, 'release', records))
  return details.map((release) => presentRelease(release, request))
}

const replies = contentReplies(readReleases, ({ release }: FoundRelease) => release)

const find = async (
  services: Services,
  request: Recipient & { params: { owner: string; repo: string } },
  which: WhichRelease,
) => {
  const { user, params } = request
  const found = await services.hosting.releases.find(user, repositoryNameOf(params), which)
  return replies.one(services, request, 200, found)
}

const params = v.object({ ...repositoryParams, id: releaseId })

const options = {
  target_commitish: v.optional(shortText),
  name: v.optional(example(shortText, 'Version 1.0')),
  body: v.optional(example(longText, 'The first release.')),
  draft: v.optional(v.boolean()),
  prerelease: v.optional(v.boolean()),
}
const CreateReleaseOption = v.object({
  tag_name: v.pipe(text('v1.0'), v.minLength(1), v.maxLength(255)),
  ...options,
})
const EditReleaseOption = v.object({ tag_name: v.optional(shortText), ...options })

const editIn = (body: v.InferOutput<typeof EditReleaseOption>): Complete<ReleaseEdit> => {
  const { tag_name: tag, target_commitish: target, name, body: notes, draft, prerelease } = body
  return { tag, target, name, body: notes, draft, prerelease }
}

const read = { auth: 'optional', scope: 'read:repository', tag: 'repository' } as const

export const releaseRoutes = [
  route({
    ...read,
    method: 'GET',
    path: '/repos/{owner}/{repo}/releases',
    operationId: 'repoListReleases',
    summary: "A repository's releases, the newest first; drafts for those who may write to it",
    query: v.object({
      draft: v.optional(parameter(v.boolean(), 'Finds only drafts, or only others.')),
      'pre-release': v.optional(parameter(v.boolean(), 'Finds only prereleases, or only others.')),
    }),
    paging: 'pages',
    responses: { 200: v.array(Release), 404: NotFound },
    handle: async (request, services) => {
      const { user, params, query, page } = request
      const filter = { draft: query.draft, prerelease: query['pre-release'] }
      const found = await services.hosting.releases.list(user, repositoryNameOf(params), filter, page)
      return replies.page(services, request, found)
    },
  }),
  route({
    ...repositoryWrite,
    method: 'POST',
    path: '/repos/{owner}/{repo}/releases',
    operationId: 'repoCreateRelease',
    summary: 'Make a release of a tag; the tag itself is pushed',
    body: CreateReleaseOption,
    responses: { 201: Release, 403: Forbidden, 404: NotFound, 409: ErrorBody, 422: ValidationError },
    handle: async (request, services) => {
      const { user, params, body } = request
      const release = { ...editIn(body), tag: body.tag_name }
      const created = await services.hosting.releases.create(user, repositoryNameOf(params), release)
      return replies.one(services, request, 201, created)
    },
  }),
  route({
    ...read,
    method: 'GET',
    path: '/repos/{owner}/{repo}/releases/latest',
    operationId: 'repoGetLatestRelease',
    summary: 'The newest release that is neither a draft nor a prerelease',
    responses: { 200: Release, 404: NotFound },
    handle: (request, services) => find(services, request, 'latest'),
  }),
  route({
    ...read,
    method: 'GET',
    path: '/repos/{owner}/{repo}/releases/tags/{tag}',
    operationId: 'repoGetReleaseByTag',
    summary: 'The release of a tag',
    responses: { 200: Release, 404: NotFound },
    handle: (request, services) => find(services, request, { tag: request.params.tag }),
  }),
  route({
    ...repositoryWrite,
    method: 'DELETE',
    path: '/repos/{owner}/{repo}/releases/tags/{tag}',
    operationId: 'repoDeleteReleaseByTag',
    summary: 'Delete the release of a tag; the tag stays',
    responses: { 204: Empty, 403: Forbidden, 404: NotFound },
    handle: async ({ user, params }, { hosting }) =>
      replyEmpty(await hosting.releases.remove(user, repositoryNameOf(params), { tag: params.tag })),
  }),
  route({
    ...read,
    method: 'GET',
    path: '/repos/{owner}/{repo}/releases/{id}',
    operationId: 'repoGetRelease',
    summary: 'A release',
    params,
    responses: { 200: Release, 404: NotFound },
    handle: (request, services) => find(services, request, { id: request.params.id }),
  }),
  route({
    ...repositoryWrite,
    method: 'PATCH',
    path: '/repos/{owner}/{repo}/releases/{id}',
    operationId: 'repoEditRelease',
    summary: 'Change a release, or publish a draft',
    params,
    body: EditReleaseOption,
    responses: { 200: Release, 403: Forbidden, 404: NotFound, 409: ErrorBody, 422: ValidationError },
    handle: async (request, services) => {
      const { user, params, body } = request
      const repository = repositoryNameOf(params)
      // Clients written in Go send empty texts for what stays, and a Forgejo keeps it.
      const { body: notes, ...others } = editIn(body)
      const edit = { ...others, body: notes || undefined }
      const edited = await services.hosting.releases.edit(user, repository, params.id, edit)
      return replies.one(services, request, 200, edited)
    },
  }),
  route({
    ...repositoryWrite,
    method: 'DELETE',
    path: '/repos/{owner}/{repo}/releases/{id}',
    operationId: 'repoDeleteRelease',
    summary: 'Delete a release; the tag stays',
    params,
    responses: { 204: Empty, 403: Forbidden, 404: NotFound },
    handle: async ({ user, params }, { hosting }) =>
      replyEmpty(await hosting.releases.remove(user, repositoryNameOf(params), { id: params.id })),
  }),
]
