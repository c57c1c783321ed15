import { repositoryById } from '../accounts/access.ts'
import type { JobHandler, Jobs } from '../records/jobs.ts'
import { paced } from '../records/pacing.ts'
import { comments, issueSequences, issues, releases } from '../records/schema/index.ts'
import { type AttachmentParts, removeAttachments } from './attachment-records.ts'

/*
 * Jobs that remove the contents of deleted repositories and issues. Readers cannot reach them any more, because a comment
 * is looked up through its issue, and an issue or release through its repository.
 */

export const registerContentRemoval = (jobs: Jobs, parts: AttachmentParts): void => {
  jobs.handle('comments', commentsJob(parts))
  jobs.handle('contents', contentsJob(parts))
}

/** Removes the comments of a deleted issue. */
const commentsJob = (parts: AttachmentParts): JobHandler => ({
  prepare: parts.files.idle,
  async step(tx, issue, limit) {
    if ((await issues.get(tx, [issue])) !== undefined) return 0
    return removeComments(parts)(tx, issue, limit)
  },
})

/** Removes the issues and releases of a deleted repository. */
const contentsJob = (parts: AttachmentParts): JobHandler => ({
  prepare: parts.files.idle,
  async step(tx, repository, limit) {
    if ((await repositoryById(tx, repository)) !== undefined) return 0
    let removed = 0
    for (const remove of [removeIssues(parts), removeReleases(parts)]) {
      removed += await remove(tx, repository, limit - removed)
      if (removed >= limit) return removed
    }
    await issueSequences.remove(tx, [repository])
    return removed
  },
})

type RemovalStep = (parts: AttachmentParts) => JobHandler['step']

/** Removes each comment after its attachments. */
const removeComments: RemovalStep = (parts) => async (tx, issue, limit) => {
  let removed = 0
  for await (const { id } of paced(await comments.list(tx, 'issue', { prefix: [issue], limit }))) {
    removed += await removeAttachments(tx, parts, { on: 'comment', id }, limit - removed)
    if (removed >= limit) return removed
    await comments.remove(tx, [id])
    if (++removed >= limit) return removed
  }
  return removed
}

/** Cost of removing an issue, in records: each word of its title has index entries and counters. */
const ISSUE_COST = 2

const removeIssues: RemovalStep = (parts) => async (tx, repository, limit) => {
  let removed = 0
  for (const state of ['open', 'closed'])
    for await (const { id } of paced(
      await issues.list(tx, 'state', { prefix: [repository, state], limit: limit - removed }),
    )) {
      removed += await removeComments(parts)(tx, id, limit - removed)
      removed += await removeAttachments(tx, parts, { on: 'issue', id }, limit - removed)
      if (removed >= limit) return removed
      await issues.remove(tx, [id])
      removed += ISSUE_COST
      if (removed >= limit) return removed
    }
  return removed
}

const removeReleases: RemovalStep = (parts) => async (tx, repository, limit) => {
  let removed = 0
  for await (const { id } of paced(await releases.list(tx, 'time', { prefix: [repository], limit }))) {
    removed += await removeAttachments(tx, parts, { on: 'release', id }, limit - removed)
    if (removed >= limit) return removed
    await releases.remove(tx, [id])
    if (++removed >= limit) return removed
  }
  return removed
}
