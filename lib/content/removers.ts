/** What is removed with a record besides the record, and the jobs that remove what belonged to one. */
import type { AnyCollection, Parent } from '../records/collection.ts'
import { type RemoveBelonging, removeBelongings } from '../records/schema/belongings.ts'
import {
  type Attachment,
  accounts,
  attachments,
  comments,
  deliveries,
  files,
  hooks,
  issues,
  type Job,
  packageFiles,
  packageVersions,
  RELATIONS,
  releases,
  repositories,
} from '../records/schema/index.ts'
import type { WriteContext } from '../records/store.ts'
import { unrelate } from '../repositories/relations.ts'
import { type RepositoryServices, removeRepository } from '../repositories/repositories.ts'
import { removeDelivery, removeHook } from '../webhooks/kept.ts'
import { removeAttachment } from './attachment-records.ts'
import { removePackageFile } from './packages/add.ts'

/**
 * Removes a record of a collection.
 * @returns how many records that were; one, unless it is a number
 */
type Remove<R> = (
  tx: WriteContext,
  record: R,
  limit: number,
  services: RepositoryServices,
) => Promise<unknown>

/**
 * Removes what belongs to a record, and then the record if the limit permits.
 * @param cost records that the record itself counts as: an issue has the words of its title in an index
 */
const whole =
  (on: Attachment['on'], cost = 1): Remove<{ readonly id: number }> =>
  async (tx, { id }, limit, services) => {
    let removed = 0
    for (const when of ['later', 'now'] as const)
      removed += await removeBelongings(tx, on, id, when, limit - removed, removeWith(services))
    if (removed >= limit) return removed
    await TARGETS[on].remove(tx, [id])
    return removed + cost
  }

const TARGETS = { issue: issues, comment: comments, release: releases }

interface Named<R> {
  readonly options: { readonly name: string; id(record: R): unknown }
}

/** How a record of the collection is removed when it belongs to what is removed. */
const rule = <R>({ options: { name } }: Named<R>, to: Parent, remove: Remove<R>) =>
  [`${name} of ${to}`, remove as Remove<unknown>] as const

/**
 * Deliveries that go with their webhook, and not by its job: so few that all webhooks of an account or of a
 * repository go in the write that deletes it, and none of them sends what still waits.
 */
const MAX_DELIVERIES = 20

/** Of records whose removal takes more than the record. */
const RULES: ReadonlyMap<string, Remove<unknown>> = new Map([
  rule(repositories, 'account', (tx, { id }, limit, services) => removeRepository(tx, services, id, limit)),
  // The forks of a deleted repository become independent.
  rule(repositories, 'repository', (tx, fork) => repositories.save(tx, { ...fork, parent: null })),
  ...RELATIONS.map((relation) =>
    rule(relation.collection, 'account', async (tx, { account, repository: id }) => {
      const repository = await repositories.get(tx, [id])
      if (repository !== undefined) await unrelate(tx, relation, account, repository)
      else await relation.collection.remove(tx, [account, id])
    }),
  ),
  rule(issues, 'repository', whole('issue', 2)),
  rule(comments, 'issue', whole('comment')),
  rule(releases, 'repository', whole('release')),
  ...(['issue', 'comment', 'release'] as const).map((on) =>
    rule(attachments, on, (tx, attachment, _limit, services) => removeAttachment(tx, services, attachment)),
  ),
  rule(files, 'repository', (tx, file, _limit, services) => services.files.deleteAfterCommit(tx, file)),
  rule(packageVersions, 'account', async (tx, { id }, limit, { jobs }) => {
    await packageVersions.remove(tx, [id])
    return 1 + (await jobs.runNow(tx, 'removePackageFiles', id, limit - 1))
  }),
  rule(packageFiles, 'packageVersion', (tx, file, _limit, services) => removePackageFile(tx, services, file)),
  ...(['account', 'repository'] as const).map((scope) =>
    rule(hooks, scope, (tx, hook, limit, { jobs }) =>
      removeHook(tx, jobs, hook, Math.min(limit - 1, MAX_DELIVERIES)),
    ),
  ),
  rule(deliveries, 'hook', removeDelivery),
])

const removeWith =
  (services: RepositoryServices): RemoveBelonging =>
  async (tx, { collection, to }, record, limit) => {
    const remove = RULES.get(`${collection.options.name} of ${to}`)
    const removed = await (remove === undefined
      ? collection.removeLoaded(tx, record)
      : remove(tx, record, limit, services))
    return typeof removed === 'number' ? removed : 1
  }

/**
 * Registers the jobs that remove what belonged to a deleted account, repository, issue, package version or
 * webhook. Readers cannot reach it any more: a comment is found through its issue, and an issue, a release or
 * a package through its owner.
 */
export const registerRemovalJobs = (services: RepositoryServices): void => {
  const { jobs, disk, quota } = services
  const remove = removeWith(services)
  const handle = (
    kind: Job['kind'],
    collection: Pick<AnyCollection, 'get'>,
    parents: readonly Parent[],
    removeMore: (tx: WriteContext, id: number, limit: number) => Promise<number> = async () => 0,
  ) =>
    jobs.handle(kind, {
      /** Waits until the folders and files that the previous step released are deleted. */
      prepare: () => disk.idle(),
      async step(tx, id, limit) {
        if ((await collection.get(tx, [id])) !== undefined) return 0
        let removed = 0
        for (const parent of parents)
          removed += await removeBelongings(tx, parent, id, 'later', limit - removed, remove)
        return removed < limit ? removed + (await removeMore(tx, id, limit - removed)) : removed
      },
    })
  handle('removeAccountData', accounts, ['account', 'organization'], (tx, id, limit) =>
    quota.removeOwner(tx, id, limit),
  )
  handle('removeRepositoryContents', repositories, ['repository'])
  handle('removeComments', issues, ['issue'])
  handle('removePackageFiles', packageVersions, ['packageVersion'])
  handle('removeDeliveries', hooks, ['hook'])
}

/**
 * Removes an issue, a comment or a release that somebody deletes, with its attachments. A job removes what
 * else belongs to an issue.
 * @returns false when it does not exist
 */
export const removeContent = async (
  tx: WriteContext,
  services: RepositoryServices,
  { on, id }: { on: Attachment['on']; id: number },
): Promise<boolean> => {
  const { jobs } = services
  if ((await TARGETS[on].remove(tx, [id])) === undefined) return false
  const removed = await removeBelongings(tx, on, id, 'now', undefined, removeWith(services))
  if (on === 'issue') await jobs.runNow(tx, 'removeComments', id, jobs.limits.maxPerTransaction - removed)
  return true
}
