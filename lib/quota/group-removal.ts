/** Deletes groups. A job takes a group that many owners have from them, in steps. */
import { AllotError } from '../errors.ts'
import type { JobHandler, Jobs } from '../records/jobs.ts'
import { paced } from '../records/pacing.ts'
import { assignments, type Group, groups, removedGroups } from '../records/schema/index.ts'
import type { Store, WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'

/**
 * Removes a group. Readers find its rules and its owners by the group, so they find none from then on. The
 * group is among the removed ones until a job has taken it from all owners; until then there is no new group
 * of the name, which would get them.
 * @param limit assignments to remove in this transaction at most
 * @returns how many were removed
 */
export const removeGroup = async (
  tx: WriteContext,
  jobs: Jobs,
  { name, sequence }: Group,
  limit = jobs.limits.maxPerTransaction,
): Promise<number> => {
  await groups.remove(tx, [name])
  await removedGroups.save(tx, { sequence, name })
  return jobs.runNow(tx, 'removeAssignments', sequence, limit)
}

/** Takes a deleted group from its owners. */
export const removeAssignmentsJob: JobHandler = {
  async step(tx, sequence, limit) {
    const removed = await removedGroups.get(tx, [sequence])
    if (removed === undefined) return 0
    const assigned = await assignments.list(tx, 'group', { prefix: [removed.name], limit })
    for await (const { owner, group } of paced(assigned)) await assignments.remove(tx, [owner, group])
    if (assigned.length < limit) await removedGroups.remove(tx, [sequence])
    return assigned.length
  },
}

/**
 * Completes the removal of earlier groups with these names, which are about to be given to new groups.
 * @param check called before, if there is such a removal: it rejects when the new groups will be refused,
 * since a removal is long
 */
export const finishRemovals = async (
  store: Store,
  jobs: Jobs,
  names: readonly string[],
  check: () => Promise<unknown>,
): Promise<void> => {
  let isChecked = false
  for (const name of names) {
    const removed = await store.read((tx) => removedGroups.findBy(tx, 'name', [name]))
    if (removed === undefined) continue
    if (!isChecked) await check()
    isChecked = true
    await jobs.finish(store, 'removeAssignments', removed.sequence)
  }
}

/**
 * Refuses the name of a group that was removed after {@link finishRemovals}.
 * @throws AllotError conflict
 */
export const refuseRemoved = async (tx: ReadTransaction, name: string): Promise<void> => {
  if ((await removedGroups.findBy(tx, 'name', [name])) !== undefined)
    throw new AllotError('conflict', `the group ${name} is being deleted; try again`)
}
