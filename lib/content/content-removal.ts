import { repositoryById } from '../accounts/access.ts'
import type { JobHandler, Jobs } from '../records/jobs.ts'
import { paced } from '../records/pacing.ts'
import { comments, issueSequences, issues, releases } from '../records/schema/index.ts'
import { type AttachmentParts, removeAttachments } from './attachment-records.ts'

/*
 * What a repository or an issue that is gone leaves behind: nobody can reach it any more, for each comment is looked for
 * by its issue, and each issue and release by its repository.
 */

export const registerContentRemoval = (jobs: Jobs, parts: AttachmentParts): void => {
  jobs.handle('comments', removingComments(parts))
  jobs.handle('contents', removingContents(parts))
}

/** Removes the comments of an issue that is gone. */
const removingComments = (parts: AttachmentParts): JobHandler => ({
  prepare: parts.files.idle,
  async step(tx, issue, limit) {
    if ((await issues.get(tx, [issue])) !== undefined) return 0
    return removeComments(parts)(tx, issue, limit)
  },
})

/** Removes the issues and releases of a repository that is gone. */
const removingContents = (parts: AttachmentParts): JobHandler => ({
  prepare: parts.files.idle,
  async step(tx, repository, limit) {
    if ((await repositoryById(tx, repository)) !== undefined) return 0
    let did = 0
    for (const remove of [removeIssues(parts), removeReleases(parts)]) {
      did += await remove(tx, repository, limit - did)
      if (did >= limit) return did
    }
    await issueSequences.remove(tx, [repository])
    return did
  },
})

type Removing = (parts: AttachmentParts) => JobHandler['step']

/** Each with its attachments, and none before those. */
const removeComments: Removing = (parts) => async (tx, issue, limit) => {
  let did = 0
  for await (const { id } of paced(await comments.list(tx, 'issue', { prefix: [issue], limit }))) {
    did += await removeAttachments(tx, parts, { on: 'comment', id }, limit - did)
    if (did >= limit) return did
    await comments.remove(tx, [id])
    if (++did >= limit) return did
  }
  return did
}

/** How many other records an issue takes as long as: each word of its title is counted and found. */
const ISSUE = 2

const removeIssues: Removing = (parts) => async (tx, repository, limit) => {
  let did = 0
  for (const state of ['open', 'closed'])
    for await (const { id } of paced(
      await issues.list(tx, 'state', { prefix: [repository, state], limit: limit - did }),
    )) {
      did += await removeComments(parts)(tx, id, limit - did)
      did += await removeAttachments(tx, parts, { on: 'issue', id }, limit - did)
      if (did >= limit) return did
      await issues.remove(tx, [id])
      did += ISSUE
      if (did >= limit) return did
    }
  return did
}

const removeReleases: Removing = (parts) => async (tx, repository, limit) => {
  let did = 0
  for await (const { id } of paced(await releases.list(tx, 'time', { prefix: [repository], limit }))) {
    did += await removeAttachments(tx, parts, { on: 'release', id }, limit - did)
    if (did >= limit) return did
    await releases.remove(tx, [id])
    if (++did >= limit) return did
  }
  return did
}
