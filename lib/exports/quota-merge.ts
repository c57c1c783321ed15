/** Rules and groups of the file of an owner, which can also be in the store already. */
import { isDeepStrictEqual } from 'node:util'
import { AllotError } from '../errors.ts'
import { finishRemovals, refuseRemoved, removeAssignmentsJob } from '../quota/group-removal.ts'
import { groupMembersOf } from '../quota/groups.ts'
import { creationOf, membersOf } from '../quota/rules.ts'
import type { Collection } from '../records/collection.ts'
import { JOB_LIMITS, Jobs } from '../records/jobs.ts'
import { type Group, groups, type Rule, rules } from '../records/schema/index.ts'
import { Store } from '../records/store.ts'
import type { StorageDriver, WriteTransaction } from '../storage/index.ts'

/** Completes the removal of earlier groups of the store that have the name of one of the file. */
export const finishGroupRemovals = (
  driver: StorageDriver,
  received: readonly { readonly collection: Collection<unknown>; readonly record: unknown }[],
): Promise<void> => {
  const names = received.flatMap(({ collection, record }) =>
    collection.options.name === groups.options.name ? [(record as Group).name] : [],
  )
  const jobs = new Jobs(JOB_LIMITS, () => undefined)
  jobs.handle('removeAssignments', removeAssignmentsJob)
  return finishRemovals(new Store(driver), jobs, names, async () => undefined)
}

/**
 * Saves a rule that the store lacks.
 * @throws AllotError conflict when the store has another one of the name
 */
export const mergeRule = async (tx: WriteTransaction, rule: Rule): Promise<void> => {
  const own = await rules.get(tx, [rule.name])
  if (own === undefined) await rules.save(tx, { ...rule, ...(await creationOf(tx, 'rule')) })
  else if (!isDeepStrictEqual(membersOf(own), membersOf(rule))) throw differs('rule', rule.name)
}

/**
 * Saves a group that the store lacks.
 * @throws AllotError conflict when the store has another one of the name
 */
export const mergeGroup = async (tx: WriteTransaction, group: Group): Promise<void> => {
  const own = await groups.get(tx, [group.name])
  if (own === undefined) {
    await refuseRemoved(tx, group.name)
    await groups.save(tx, { ...group, ...(await creationOf(tx, 'group')) })
  } else if (!isDeepStrictEqual(groupMembersOf(own), groupMembersOf(group)))
    throw differs('group', group.name)
}

const differs = (what: string, name: string) =>
  new AllotError(
    'conflict',
    `the ${what} ${name} of this store differs from that of the file: make them equal first`,
  )
