import * as v from 'valibot'
import { ErrorBody, Forbidden, NotFound, ValidationError } from '../http/index.ts'
import { example, repositoryNameOf, shortText } from './fields.ts'
import { Repository, replyRepositories, replyRepository } from './repository-presenter.ts'
import { reply, repositoryWrite, route } from './route.ts'

const CreateForkOption = v.object({
  organization: v.optional(v.nullable(example(shortText, 'acme'))),
  name: v.optional(v.nullable(example(shortText, 'app'))),
})

export const forkRoutes = [
  route({
    method: 'GET',
    path: '/repos/{owner}/{repo}/forks',
    operationId: 'listForks',
    tag: 'repository',
    summary: 'The forks of a repository',
    auth: 'optional',
    scope: 'read:repository',
    paging: 'pages',
    responses: { 200: v.array(Repository), 404: NotFound },
    handle: async (request, services) => {
      const { user, params, page } = request
      const found = await services.hosting.forks.list(user, repositoryNameOf(params), page)
      return found === undefined ? reply(404) : replyRepositories(services, request, found)
    },
  }),
  route({
    ...repositoryWrite,
    method: 'POST',
    path: '/repos/{owner}/{repo}/forks',
    operationId: 'createFork',
    summary: 'Fork a repository: a full copy, which counts for the new owner',
    body: CreateForkOption,
    responses: {
      202: Repository,
      403: Forbidden,
      404: NotFound,
      409: ErrorBody,
      422: ValidationError,
    },
    handle: async (request, services) => {
      const { user, params, body } = request
      // Clients written in Go send an empty string for what is not set.
      const options = { organization: body.organization || undefined, name: body.name || undefined }
      const fork = await services.hosting.forks.fork(user, repositoryNameOf(params), options)
      return replyRepository(services, request, 202, fork)
    },
  }),
]
