/** Giving a repository to another owner. */
import * as v from 'valibot'
import { invalidMember } from '../../errors.ts'
import { example, shortText, wholeNumber } from '../fields.ts'
import { Otherwise } from '../kit.ts'
import { repositoryView } from '../repository-presenter.ts'
import { at } from '../route.ts'

const TransferRepoOption = v.object({
  new_owner: example(shortText, 'acme'),
  /** Must be empty. */
  team_ids: v.optional(v.nullable(v.array(wholeNumber))),
})

const transfer = at('/repos/{owner}/{repo}/transfer', { scope: 'repository' })

export const transferRoutes = [
  transfer.post('repoTransfer', '', {
    summary:
      'Give a repository to another owner, with its usage: 202 at once for owners of both, and 201 when the new owner must accept it',
    body: TransferRepoOption,
    of: repositoryView,
    status: [201, 202],
    also: [409],
    run: async ({ user, repository, body }, { hosting }) => {
      if ((body.team_ids ?? []).length > 0)
        throw invalidMember('team_ids', 'must be empty: give teams rights afterwards')
      const begun = await hosting.transfers.begin(user, repository, body.new_owner)
      return begun === undefined || begun.isOffered ? begun?.repository : new Otherwise(begun.repository)
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
