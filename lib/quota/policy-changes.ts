/** The one way in which rules, groups and their assignments to owners change. */
import { type Actor, recordAudit } from '../audit.ts'
import type { Jobs } from '../records/jobs.ts'
import { paced } from '../records/pacing.ts'
import { removeBelongings } from '../records/schema/belongings.ts'
import { accounts, assignments, groups, quotaOwners, type Rule, rules } from '../records/schema/index.ts'
import { takeNumber, uniqueTime, type WriteContext } from '../records/store.ts'
import type { WriteTransaction } from '../storage/index.ts'
import { existingGroup, groupNamed } from './assigned-groups.ts'
import type { QuotaRule } from './evaluate.ts'
import { membersOf } from './rule-checks.ts'

/** A value before and after; undefined where it does not exist. */
export interface Difference<K, T> {
  /** Name of what changes. */
  key: K
  /** Value before. */
  before: T | undefined
  /** Value after. */
  after: T | undefined
}

/** Changes of rules, groups and assignments; values that stay are left out. */
export interface Differences {
  rules: Difference<string, QuotaRule>[]
  groups: Difference<string, readonly string[]>[]
  assignments: Difference<number, readonly string[]>[]
}

export class PolicyChanges {
  readonly #jobs: Jobs

  constructor(jobs: Jobs) {
    this.#jobs = jobs
    jobs.handle('removeAssignments', {
      step: (tx, group, limit) => removeBelongings(tx, 'group', group, 'later', limit),
    })
  }

  /**
   * Makes changes that were found in the same transaction. Deleted groups limit no owner from then on; when
   * many owners have one, a job takes it from them.
   * @param by who makes them, for the audit log; undefined: the host
   */
  async make(tx: WriteContext, changes: Partial<Differences>, by: Actor | undefined): Promise<void> {
    const changed = {
      rules: differing(changes.rules),
      groups: differing(changes.groups),
      assignments: differing(changes.assignments),
    }
    for (const rule of changed.rules) await changeRule(tx, rule, by)
    let left = this.#jobs.limits.maxPerTransaction
    for (const group of changed.groups) left -= await this.#changeGroup(tx, group, by, left)
    const numbers = new Map<string, number>()
    for await (const owner of paced(changed.assignments)) await changeAssignments(tx, owner, by, numbers)
  }

  /**
   * @param limit assignments to remove in this transaction at most
   * @returns how many were removed
   */
  async #changeGroup(
    tx: WriteContext,
    { key, before, after }: Difference<string, readonly string[]>,
    by: Actor | undefined,
    limit: number,
  ): Promise<number> {
    const stored = await groupNamed(tx, key)
    const isDeleted = stored !== undefined && after === undefined
    const owners = isDeleted ? await assignments.count(tx, 'group', [stored.sequence]) : undefined
    if (isDeleted) await groups.remove(tx, [stored.sequence])
    else {
      const kept = stored ?? (await creationOf(tx, 'group'))
      await groups.save(tx, { ...kept, name: key, rules: [...(after ?? [])] })
    }
    await recordAudit(tx, by, {
      action: actionFor('group', before, after),
      subject: key,
      before: before && { rules: before, owners },
      after: after && { rules: after },
    })
    return isDeleted ? this.#jobs.runNow(tx, 'removeAssignments', stored.sequence, limit) : 0
  }
}

/** Those whose value changes. */
export const differing = <K, T>(differences: readonly Difference<K, T>[] = []): Difference<K, T>[] =>
  differences.filter(({ before, after }) => JSON.stringify(before) !== JSON.stringify(after))

const changeRule = async (
  tx: WriteContext,
  { key, before, after }: Difference<string, QuotaRule>,
  by: Actor | undefined,
): Promise<void> => {
  if (after === undefined) await rules.remove(tx, [key])
  else {
    const kept = (await rules.get(tx, [key])) ?? (await creationOf(tx, 'rule'))
    await rules.save(tx, { ...kept, name: key, ...membersOf(after) })
  }
  await recordAudit(tx, by, {
    action: actionFor('rule', before, after),
    subject: key,
    before: before && membersOf(before),
    after: after && membersOf(after),
  })
}

/** @param numbers of groups by name, as far as they are known */
const changeAssignments = async (
  tx: WriteContext,
  { key: owner, before = [], after = [] }: Difference<number, readonly string[]>,
  by: Actor | undefined,
  numbers: Map<string, number>,
): Promise<void> => {
  const numberOf = async (name: string): Promise<number> => {
    const number = numbers.get(name) ?? (await existingGroup(tx, name)).sequence
    numbers.set(name, number)
    return number
  }
  // A group that the same change deletes is not found.
  for (const name of before)
    if (!after.includes(name) && (numbers.has(name) || (await groupNamed(tx, name)) !== undefined))
      await assignments.remove(tx, [owner, await numberOf(name)])
  for (const name of after)
    if (!before.includes(name)) await assignments.save(tx, { owner, group: await numberOf(name) })
  if (by === undefined) return
  const record = (await accounts.get(tx, [owner])) ?? (await quotaOwners.get(tx, [owner]))
  const subject = record?.name ?? `#${owner}`
  await recordAudit(tx, by, { action: 'groups assigned', subject, before, after })
}

/** The number and the time that a rule or a group keeps from its creation, in the write that creates it. */
const creationOf = async (
  tx: WriteTransaction,
  kind: 'rule' | 'group',
): Promise<Pick<Rule, 'sequence' | 'created'>> => ({
  sequence: await takeNumber(tx, kind),
  created: uniqueTime(),
})

const actionFor = <K extends 'rule' | 'group'>(kind: K, before: unknown, after: unknown) =>
  `${kind} ${before === undefined ? 'created' : after === undefined ? 'deleted' : 'changed'}` as const
