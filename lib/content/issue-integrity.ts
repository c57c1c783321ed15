import { requireAccount } from '../accounts/integrity.ts'
import {
  check,
  type Find,
  type IntegrityChecks,
  type Lookup,
  lookup,
  pendingJob,
  type Report,
} from '../integrity/index.ts'
import {
  attachments,
  comments,
  commitStatuses,
  guestUploads,
  issueEvents,
  issueSequences,
  issueSubscriptions,
  issues,
  releases,
} from '../records/schema/index.ts'
import { hasRepository } from '../repositories/integrity.ts'

/** The repositories of the issues that exist. */
export const issue = lookup(issues, ({ repository }) => repository)
export const lastNumber = lookup(issueSequences, ({ last }) => last)
export const attachmentTarget = { issue, comment: lookup(comments), release: lookup(releases) }
export const pending = {
  contents: pendingJob('removeRepositoryContents'),
  comments: pendingJob('removeComments'),
}

/** Reports what belongs to a repository that does not exist, unless a job is removing it. */
export const requireRepository = (
  find: Find,
  id: number,
  job: Lookup,
  thing: string,
  report: Report,
): void => {
  if (!hasRepository(find, id) && find(job, id) === undefined)
    report(`${thing} of repository ${id}, which does not exist`)
}

/** Reports a record of an issue that does not exist, unless a job is removing it. */
const requireIssue = (find: Find, id: number, thing: string, report: Report): void => {
  if (find(issue, id) === undefined && find(pending.comments, id) === undefined)
    report(`${thing} issue ${id}, which does not exist`)
}

/**
 * Checks of issues, releases and commit statuses, of their comments and attachments, and of their references
 * to each other.
 */
export const contentChecks: IntegrityChecks['checks'] = [
  check(issues, ({ id, repository, number }, find, report) => {
    requireRepository(find, repository, pending.contents, `issue ${id} is`, report)
    const last = find(lastNumber, repository) ?? 0
    if (hasRepository(find, repository) && last < number)
      report(
        `issue ${id} has the number ${number}, but the last number of repository ${repository} is ${last}`,
      )
  }),
  check(issueSequences, ({ repository }, find, report) =>
    requireRepository(find, repository, pending.contents, 'there are issue numbers', report),
  ),
  check(releases, ({ id, repository }, find, report) =>
    requireRepository(find, repository, pending.contents, `release ${id} is`, report),
  ),
  check(comments, ({ id, issue: issueId, repository }, find, report) => {
    requireIssue(find, issueId, `comment ${id} is on`, report)
    const found = find(issue, issueId)
    if (repository !== undefined && found !== undefined && found !== repository)
      report(`comment ${id} names repository ${repository}, but its issue is in repository ${found}`)
  }),
  check(issueEvents, ({ id, issue: issueId }, find, report) =>
    requireIssue(find, issueId, `event ${id} is of`, report),
  ),
  check(issueSubscriptions, ({ issue: issueId, account }, find, report) => {
    requireIssue(find, issueId, `account ${account} follows`, report)
    requireAccount(find, account, `a subscription of issue ${issueId} belongs to`, report)
  }),
  check(guestUploads, ({ account, owner }, find, report) => {
    requireAccount(find, account, 'a count of attachments belongs to', report)
    requireAccount(find, owner, 'a count of attachments concerns', report)
  }),
  check(commitStatuses, ({ id, repository }, find, report) =>
    requireRepository(find, repository, pending.contents, `commit status ${id} is`, report),
  ),
  check(attachments, ({ id, repository, on, targetId }, find, report) => {
    if (hasRepository(find, repository) && find(attachmentTarget[on], targetId) === undefined)
      report(`attachment ${id} is on the ${on} ${targetId}, which does not exist`)
  }),
]
