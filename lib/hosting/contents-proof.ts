import { fact, look, type Proof } from '../records/proof/declare.ts'
import {
  comments,
  type Errand,
  errands,
  issues,
  releases,
  repositories,
  trackers,
} from '../records/schema.ts'

const repository = fact(repositories, () => 1)
const issue = fact(issues, () => 1)
const lastNumber = fact(trackers, (tracker) => tracker.last)
const underWay = (kind: Errand['kind']) =>
  fact(
    errands,
    () => 1,
    (errand) => (errand.kind === kind ? errand.id : undefined),
  )
const sweptContents = underWay('contents')
const sweptComments = underWay('comments')

/** What issues, comments and releases need of each other, for `verify`. Authors may be gone. */
export const contentsProof: Proof = {
  derived: [],
  facts: [repository, issue, lastNumber, sweptContents, sweptComments],
  recounts: [],
  looks: [
    look(issues, ({ id, repository: at, number }, known) => {
      if (known(repository, at) === undefined)
        return known(sweptContents, at) === undefined
          ? [{ says: `issue ${id} is in repository ${at}, and there is no such repository` }]
          : []
      const last = known(lastNumber, at) ?? 0
      return last >= number
        ? []
        : [
            {
              says: `issue ${id} has the number ${number}, and repository ${at} is said to have given ${last}`,
            },
          ]
    }),
    look(trackers, ({ repository: at }, known) =>
      known(repository, at) === undefined && known(sweptContents, at) === undefined
        ? [{ says: `repository ${at} has given numbers to issues, and there is no such repository` }]
        : [],
    ),
    look(releases, ({ id, repository: at }, known) =>
      known(repository, at) === undefined && known(sweptContents, at) === undefined
        ? [{ says: `release ${id} is in repository ${at}, and there is no such repository` }]
        : [],
    ),
    look(comments, ({ id, issue: on }, known) =>
      known(issue, on) === undefined && known(sweptComments, on) === undefined
        ? [{ says: `comment ${id} is on issue ${on}, and there is no such issue` }]
        : [],
    ),
    look(errands, ({ kind, id }, known) =>
      kind === 'contents' && known(repository, id) !== undefined
        ? [{ says: `the issues and releases of repository ${id} are to be removed, and it is still there` }]
        : kind === 'comments' && known(issue, id) !== undefined
          ? [{ says: `the comments of issue ${id} are to be removed, and it is still there` }]
          : [],
    ),
  ],
}
