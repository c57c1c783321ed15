import * as v from 'valibot'
import type { ReleaseEdit, WhichRelease } from '../../content/releases.ts'
import { Empty, ErrorBody, Forbidden, NotFound, ValidationError } from '../../http/index.ts'
import type { Release as Record } from '../../records/schema/index.ts'
import type { InRepository } from '../../repositories/write-access.ts'
import type { ListRequest } from '../list-response.ts'
import { pageOf, reply, route, type Services } from '../route.ts'
import { number, presenterFor, repositoryNameOf, repositoryParams, shortText, text } from './fields.ts'
import { presentReleases } from './presenter.ts'
import { Release } from './release-schema.ts'

const params = v.object({ ...repositoryParams, id: number })

const ReleaseOption = {
  target_commitish: v.optional(shortText),
  name: v.optional(shortText),
  body: v.optional(text),
  draft: v.optional(v.boolean()),
  prerelease: v.optional(v.boolean()),
}
const CreateReleaseOption = v.object({
  tag_name: v.pipe(v.string(), v.minLength(1), v.maxLength(255)),
  ...ReleaseOption,
})
const EditReleaseOption = v.object({ tag_name: v.optional(shortText), ...ReleaseOption })

const editOf = ({
  tag_name: tag,
  target_commitish: target,
  ...rest
}: v.InferOutput<typeof EditReleaseOption>): ReleaseEdit => ({
  tag,
  target,
  ...rest,
})

const presentRelease = async (
  services: Services,
  request: ListRequest,
  { repository, release }: InRepository<{ release: Record }>,
) => (await presentReleases(presenterFor(services, request, repository), [release]))[0]!

const get = async (
  services: Services,
  request: ListRequest & { params: { owner: string; repo: string } },
  which: WhichRelease,
) => {
  const found = await services.hosting.releases.find(request.user, repositoryNameOf(request.params), which)
  return found === undefined ? reply(404) : reply(200, await presentRelease(services, request, found))
}

const read = { auth: 'optional', scope: 'read:repository', tag: 'repository' } as const
const write = { auth: 'required', scope: 'write:repository', tag: 'repository' } as const

export const releaseRoutes = [
  route({
    ...read,
    method: 'GET',
    path: '/repos/{owner}/{repo}/releases',
    operationId: 'repoListReleases',
    summary: "A repository's releases, the newest first; drafts for those who may write to it",
    paging: 'lenient',
    query: v.object({ draft: v.optional(v.boolean()), 'pre-release': v.optional(v.boolean()) }),
    responses: { 200: v.array(Release), 404: NotFound },
    handle: async (request, services) => {
      const { user, params, query, page } = request
      const asked = { draft: query.draft, prerelease: query['pre-release'] }
      const found = await services.hosting.releases.list(user, repositoryNameOf(params), asked, page)
      if (found === undefined) return reply(404)
      const { items, total } = found.page
      return pageOf(await presentReleases(presenterFor(services, request, found.repository), items), total)
    },
  }),
  route({
    ...write,
    method: 'POST',
    path: '/repos/{owner}/{repo}/releases',
    operationId: 'repoCreateRelease',
    summary: 'Make a release of a tag; the tag itself is pushed',
    body: CreateReleaseOption,
    responses: { 201: Release, 403: Forbidden, 404: NotFound, 409: ErrorBody, 422: ValidationError },
    handle: async (request, services) => {
      const { user, params, body } = request
      const release = { ...editOf(body), tag: body.tag_name }
      const made = await services.hosting.releases.create(user, repositoryNameOf(params), release)
      return made === undefined ? reply(404) : reply(201, await presentRelease(services, request, made))
    },
  }),
  route({
    ...read,
    method: 'GET',
    path: '/repos/{owner}/{repo}/releases/latest',
    operationId: 'repoGetLatestRelease',
    summary: 'The newest release that is neither a draft nor a prerelease',
    responses: { 200: Release, 404: NotFound },
    handle: (request, services) => get(services, request, 'latest'),
  }),
  route({
    ...read,
    method: 'GET',
    path: '/repos/{owner}/{repo}/releases/tags/{tag}',
    operationId: 'repoGetReleaseByTag',
    summary: 'The release of a tag',
    responses: { 200: Release, 404: NotFound },
    handle: (request, services) => get(services, request, { tag: request.params.tag }),
  }),
  route({
    ...write,
    method: 'DELETE',
    path: '/repos/{owner}/{repo}/releases/tags/{tag}',
    operationId: 'repoDeleteReleaseByTag',
    summary: 'Delete the release of a tag; the tag stays',
    responses: { 204: Empty, 403: Forbidden, 404: NotFound },
    handle: async ({ user, params }, { hosting }) =>
      (await hosting.releases.remove(user, repositoryNameOf(params), { tag: params.tag }))
        ? reply(204)
        : reply(404),
  }),
  route({
    ...read,
    method: 'GET',
    path: '/repos/{owner}/{repo}/releases/{id}',
    operationId: 'repoGetRelease',
    summary: 'A release',
    params,
    responses: { 200: Release, 404: NotFound },
    handle: (request, services) => get(services, request, { id: request.params.id }),
  }),
  route({
    ...write,
    method: 'PATCH',
    path: '/repos/{owner}/{repo}/releases/{id}',
    operationId: 'repoEditRelease',
    summary: 'Change a release, or publish a draft',
    params,
    body: EditReleaseOption,
    responses: { 200: Release, 403: Forbidden, 404: NotFound, 409: ErrorBody, 422: ValidationError },
    handle: async (request, services) => {
      const { user, params, body } = request
      const edited = await services.hosting.releases.edit(
        user,
        repositoryNameOf(params),
        params.id,
        editOf(body),
      )
      return edited === undefined ? reply(404) : reply(200, await presentRelease(services, request, edited))
    },
  }),
  route({
    ...write,
    method: 'DELETE',
    path: '/repos/{owner}/{repo}/releases/{id}',
    operationId: 'repoDeleteRelease',
    summary: 'Delete a release; the tag stays',
    params,
    responses: { 204: Empty, 403: Forbidden, 404: NotFound },
    handle: async ({ user, params }, { hosting }) =>
      (await hosting.releases.remove(user, repositoryNameOf(params), { id: params.id }))
        ? reply(204)
        : reply(404),
  }),
]
