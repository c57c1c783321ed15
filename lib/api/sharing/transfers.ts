/** Giving a repository to another owner. */
import * as v from 'valibot'
import { invalidMember } from '../../errors.ts'
import { ErrorBody, Forbidden, NotFound, ValidationError } from '../../http/index.ts'
import { example, repositoryNameOf, shortText, wholeNumber } from '../fields.ts'
import { Repository, replyRepository } from '../repository-presenter.ts'
import { reply, repositoryWrite, route } from '../route.ts'

const TransferRepoOption = v.object({
  new_owner: example(shortText, 'acme'),
  /** Must be empty. */
  team_ids: v.optional(v.nullable(v.array(wholeNumber))),
})

export const transferRoutes = [
  route({
    ...repositoryWrite,
    method: 'POST',
    path: '/repos/{owner}/{repo}/transfer',
    operationId: 'repoTransfer',
    summary:
      'Give a repository to another owner, with its usage: 202 at once for owners of both, and 201 when the new owner must accept it',
    body: TransferRepoOption,
    responses: {
      201: Repository,
      202: Repository,
      403: Forbidden,
      404: NotFound,
      409: ErrorBody,
      422: ValidationError,
    },
    handle: async (request, services) => {
      const { user, params, body } = request
      const { transfers } = services.hosting
      if ((body.team_ids ?? []).length > 0)
        throw invalidMember('team_ids', 'must be empty: give teams rights afterwards')
      const begun = await transfers.begin(user, repositoryNameOf(params), body.new_owner)
      if (begun === undefined) return reply(404)
      return replyRepository(services, request, begun.isOffered ? 201 : 202, begun.repository)
    },
  }),
  route({
    ...repositoryWrite,
    method: 'POST',
    path: '/repos/{owner}/{repo}/transfer/accept',
    operationId: 'acceptRepoTransfer',
    summary:
      'Accept a repository that is offered to the signed-in user, or to an organization of theirs; its collaborators keep their rights, its teams lose them',
    responses: { 202: Repository, 403: Forbidden, 404: NotFound, 413: ErrorBody, 422: ValidationError },
    handle: async (request, services) => {
      const name = repositoryNameOf(request.params)
      const moved = await services.hosting.transfers.accept(request.user, name)
      return replyRepository(services, request, 202, moved)
    },
  }),
  route({
    ...repositoryWrite,
    method: 'POST',
    path: '/repos/{owner}/{repo}/transfer/reject',
    operationId: 'rejectRepoTransfer',
    summary: 'Reject an offered repository, or take the offer back',
    responses: { 200: Repository, 404: NotFound },
    handle: async (request, services) => {
      const name = repositoryNameOf(request.params)
      const kept = await services.hosting.transfers.reject(request.user, name)
      return replyRepository(services, request, 200, kept)
    },
  }),
]
