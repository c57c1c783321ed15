/** Giving a repository to another owner. */
import * as v from 'valibot'
import { invalidMember } from '../../errors.ts'
import { ErrorBody, NotFound, ValidationError } from '../../http/index.ts'
import { example, repositoryNameOf, shortText, wholeNumber } from '../fields.ts'
import { Repository, readRepository, repositoryView } from '../repository-presenter.ts'
import { at, reply, repositoryWrite, route } from '../route.ts'

const TransferRepoOption = v.object({
  new_owner: example(shortText, 'acme'),
  /** Must be empty. */
  team_ids: v.optional(v.nullable(v.array(wholeNumber))),
})

const transfer = at('/repos/{owner}/{repo}/transfer', { tag: 'repository', scope: 'repository' })

export const transferRoutes = [
  route({
    ...repositoryWrite,
    method: 'POST',
    path: '/repos/{owner}/{repo}/transfer',
    operationId: 'repoTransfer',
    summary:
      'Give a repository to another owner, with its usage: 202 at once for owners of both, and 201 when the new owner must accept it',
    body: TransferRepoOption,
    responses: { 201: Repository, 202: Repository, 404: NotFound, 409: ErrorBody, 422: ValidationError },
    handle: async (request, services) => {
      const { user, params, body } = request
      const { transfers } = services.hosting
      if ((body.team_ids ?? []).length > 0)
        throw invalidMember('team_ids', 'must be empty: give teams rights afterwards')
      const begun = await transfers.begin(user, repositoryNameOf(params), body.new_owner)
      if (begun === undefined) return reply(404)
      const shown = await readRepository(services, request, begun.repository)
      return begun.isOffered ? reply(201, shown) : reply(202, shown)
    },
  }),
  transfer.post('acceptRepoTransfer', '/accept', {
    summary:
      'Accept a repository that is offered to the signed-in user, or to an organization of theirs; its collaborators keep their rights, its teams lose them',
    of: repositoryView,
    status: 202,
    also: [413, 422],
    run: ({ user, repository }, { hosting }) => hosting.transfers.accept(user, repository),
  }),
  transfer.post('rejectRepoTransfer', '/reject', {
    summary: 'Reject an offered repository, or take the offer back',
    of: repositoryView,
    status: 200,
    run: ({ user, repository }, { hosting }) => hosting.transfers.reject(user, repository),
  }),
]
