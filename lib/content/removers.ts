import type { Parent } from '../records/collection.ts'
import { paced } from '../records/pacing.ts'
import { removeBelongings } from '../records/schema/belongings.ts'
import { type Attachment, comments, issues, releases } from '../records/schema/index.ts'
import type { WriteContext } from '../records/store.ts'
import type { RepositoryServices } from '../repositories/repositories.ts'
import { removeAttachments } from './attachment-records.ts'
import type { ContentServices } from './services.ts'

/*
 * The removers that the removal jobs (removal.ts) call for each kind of record, and those of issues and
 * releases.
 */

/**
 * Removes records that belong to a deleted record, `limit` at most.
 * @returns how many were removed
 */
export type Remover = (
  tx: WriteContext,
  id: number,
  limit: number,
  services: RepositoryServices,
) => Promise<number>

/** Each remover is called once those before it have nothing left. */
export const removeAll = async (
  tx: WriteContext,
  id: number,
  limit: number,
  services: RepositoryServices,
  removers: readonly Remover[],
): Promise<number> => {
  let removed = 0
  for (const remove of removers) {
    removed += await remove(tx, id, limit - removed, services)
    if (removed >= limit) break
  }
  return removed
}

/** Removes the records of all collections that belonged to a record, and of which a job does it. */
export const removeRest =
  (parent: Parent): Remover =>
  (tx, id, limit) =>
    removeBelongings(tx, parent, id, 'later', limit)

/**
 * Removes records one after another.
 * @param remove removes one, and returns how many records that were
 */
export const removeEach = async <R>(
  records: readonly R[],
  limit: number,
  remove: (record: R, limit: number) => Promise<number>,
): Promise<number> => {
  let removed = 0
  for await (const record of paced(records)) {
    removed += await remove(record, limit - removed)
    if (removed >= limit) break
  }
  return removed
}

const removeComments: Remover = async (tx, issue, limit, services) =>
  removeEach(await comments.list(tx, 'issue', { prefix: [issue], limit }), limit, ({ id }, left) =>
    removeTarget(tx, services, { on: 'comment', id }, left),
  )

/** Remove everything that belongs to an issue. */
export const ISSUE_REMOVERS: readonly Remover[] = [removeComments, removeRest('issue')]

export const removeIssues: Remover = async (tx, repository, limit, services) =>
  removeEach(await issues.list(tx, 'state', { prefix: [repository], limit }), limit, async ({ id }, left) => {
    const removed = await removeAll(tx, id, left, services, ISSUE_REMOVERS)
    return removed + (await removeTarget(tx, services, { on: 'issue', id }, left - removed))
  })

export const removeReleases: Remover = async (tx, repository, limit, services) =>
  removeEach(await releases.list(tx, 'time', { prefix: [repository], limit }), limit, ({ id }, left) =>
    removeTarget(tx, services, { on: 'release', id }, left),
  )

/**
 * Collections with attachments, and how many records a removal counts as: an issue counts twice, for the
 * words of its title in the index.
 */
const TARGETS = {
  issue: { collection: issues, cost: 2 },
  comment: { collection: comments, cost: 1 },
  release: { collection: releases, cost: 1 },
}

/**
 * Removes an issue, a comment or a release that somebody deletes, with its attachments. A job removes what
 * else belongs to an issue.
 * @returns false when it does not exist
 */
export const removeContent = async (
  tx: WriteContext,
  services: ContentServices & Pick<RepositoryServices, 'jobs'>,
  { on, id }: { on: Attachment['on']; id: number },
): Promise<boolean> => {
  const { jobs } = services
  if ((await TARGETS[on].collection.remove(tx, [id])) === undefined) return false
  const removed = await removeAttachments(tx, services, { on, id })
  if (on === 'issue') await jobs.runNow(tx, 'removeComments', id, jobs.limits.maxPerTransaction - removed)
  return true
}

/** Removes the attachments of an issue, comment or release, and then itself if the limit permits. */
const removeTarget = async (
  tx: WriteContext,
  services: RepositoryServices,
  { on, id }: { on: Attachment['on']; id: number },
  limit: number,
): Promise<number> => {
  const removed = await removeAttachments(tx, services, { on, id }, limit)
  if (removed >= limit) return removed
  const { collection, cost } = TARGETS[on]
  await collection.remove(tx, [id])
  return removed + cost
}
