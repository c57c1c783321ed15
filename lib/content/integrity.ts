import { check, type IntegrityChecks, lookup } from '../integrity/checks.ts'
import {
  comments,
  issueSequences,
  issues,
  type Job,
  jobs,
  releases,
  repositories,
} from '../records/schema/index.ts'

const repository = lookup(repositories, () => 1)
const issue = lookup(issues, () => 1)
const lastNumber = lookup(issueSequences, (tracker) => tracker.last)
const underWay = (kind: Job['kind']) =>
  lookup(
    jobs,
    () => 1,
    (job) => (job.kind === kind ? job.id : undefined),
  )
const sweptContents = underWay('contents')
const sweptComments = underWay('comments')

/** What issues, comments and releases need of each other, for `verify`. Authors may be gone. */
export const contentIntegrity: IntegrityChecks = {
  derived: [],
  lookups: [repository, issue, lastNumber, sweptContents, sweptComments],
  recounts: [],
  checks: [
    check(issues, ({ id, repository: at, number }, known) => {
      if (known(repository, at) === undefined)
        return known(sweptContents, at) === undefined
          ? [{ message: `issue ${id} is in repository ${at}, and there is no such repository` }]
          : []
      const last = known(lastNumber, at) ?? 0
      return last >= number
        ? []
        : [
            {
              message: `issue ${id} has the number ${number}, and repository ${at} is said to have given ${last}`,
            },
          ]
    }),
    check(issueSequences, ({ repository: at }, known) =>
      known(repository, at) === undefined && known(sweptContents, at) === undefined
        ? [{ message: `repository ${at} has given numbers to issues, and there is no such repository` }]
        : [],
    ),
    check(releases, ({ id, repository: at }, known) =>
      known(repository, at) === undefined && known(sweptContents, at) === undefined
        ? [{ message: `release ${id} is in repository ${at}, and there is no such repository` }]
        : [],
    ),
    check(comments, ({ id, issue: on }, known) =>
      known(issue, on) === undefined && known(sweptComments, on) === undefined
        ? [{ message: `comment ${id} is on issue ${on}, and there is no such issue` }]
        : [],
    ),
    check(jobs, ({ kind, id }, known) =>
      kind === 'contents' && known(repository, id) !== undefined
        ? [
            {
              message: `the issues and releases of repository ${id} are to be removed, and it is still there`,
            },
          ]
        : kind === 'comments' && known(issue, id) !== undefined
          ? [{ message: `the comments of issue ${id} are to be removed, and it is still there` }]
          : [],
    ),
  ],
}
