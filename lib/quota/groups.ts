import { type Actor, recordAudit, recordDifference } from '../audit.ts'
import { AllotError, checkArgument, checkPathName, invalid, isObject } from '../errors.ts'
import type { Jobs } from '../records/jobs.ts'
import type { Page, Slice } from '../records/pages.ts'
import { removeBelongings } from '../records/schema/belongings.ts'
import { assignments, type Group, groups, rules } from '../records/schema/index.ts'
import type { Store, WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import type { QuotaGroup } from './evaluate.ts'
import {
  type AssignmentChange,
  assignedTo,
  existingGroup,
  groupNamed,
  missing,
  type OwnerReference,
  ownerIn,
  recordAssignment,
  removeGroup,
  setAssigned,
  withRules,
} from './group-assignments.ts'
import { checkNames, checkRule, creationOf, insertRule, withoutLimit } from './rules.ts'
import type { StatusCache } from './status.ts'
import type { Subject } from './subjects.ts'

interface NewGroup {
  /** Name, unique among the groups. */
  name: string
  /** Names of existing rules, or whole rules, which are created unless a rule of that name exists. */
  rules?: readonly (string | NewRule)[] | undefined
}

interface NewRule {
  /** Name, unique among the rules. */
  name: string
  /** Bytes, or a size such as `2 GiB`; -1 is unlimited. Needed unless a rule of that name exists. */
  limit?: number | string | undefined
  /** Subjects whose sum the rule limits; none when absent. */
  subjects?: readonly Subject[] | undefined
}

/** Quota groups, and which owners they are assigned to. */
export class Groups {
  readonly #store: Store
  readonly #jobs: Jobs
  readonly #statuses: Pick<StatusCache, 'drop' | 'dropAll'>

  /** @param statuses of owners, which changes drop */
  constructor(store: Store, jobs: Jobs, statuses: Pick<StatusCache, 'drop' | 'dropAll'>) {
    this.#store = store
    this.#jobs = jobs
    this.#statuses = statuses
  }

  /** Groups with their rules, in the order of creation. */
  list(slice: Slice): Promise<Page<QuotaGroup>> {
    return this.#store.read(async (tx) => {
      const { items, total } = await groups.page(tx, 'sequence', { prefix: [], ...slice }, 'all')
      return { items: await Promise.all(items.map((group) => withRules(tx, group))), total }
    })
  }

  /** The group with the name; undefined when there is none. */
  get(name: string): Promise<QuotaGroup | undefined> {
    return this.#store.read((tx) => readGroup(tx, name))
  }

  /**
   * The number of the group, which a later group of the same name does not have; undefined when there is
   * none.
   */
  async numberOf(name: string): Promise<number | undefined> {
    return (await this.#store.read((tx) => groupNamed(tx, name)))?.sequence
  }

  /** Names of the groups that are assigned to an owner. */
  assignedTo(owner: number): Promise<string[]> {
    return this.#store.read((tx) => assignedTo(tx, owner))
  }

  /** Ids of the owners that the group is assigned to; undefined when the group does not exist */
  members(group: string, slice: Slice): Promise<Page<number> | undefined> {
    return this.#store.read(async (tx) => {
      const found = await groupNamed(tx, group)
      if (found === undefined) return undefined
      const { items, total } = await assignments.page(tx, 'group', { prefix: [found.sequence], ...slice })
      return { items: items.map(({ owner }) => owner), total }
    })
  }

  /**
   * Creates a group.
   * @throws AllotError conflict when the name is taken; invalid when a rule is unknown, or named twice.
   */
  async create(newGroup: NewGroup, by?: Actor): Promise<QuotaGroup> {
    checkArgument(isObject(newGroup), 'group', 'an object with name and rules', newGroup)
    const { name, rules: given = [] } = newGroup
    checkPathName(name)
    checkArgument(Array.isArray(given), 'rules', 'a list of rules', given)
    const newRules: NewRule[] = given.map((rule) => (typeof rule === 'string' ? { name: rule } : rule))
    newRules.forEach(checkRule)
    const names = newRules.map((rule) => rule.name)
    checkNames('rules', names)
    return this.#write(async (tx) => {
      if ((await groupNamed(tx, name)) !== undefined)
        throw new AllotError('conflict', `a group named ${name} already exists`, { field: 'name' })
      for (const rule of newRules) await createMissingRule(tx, rule, by)
      const group = { name, rules: names, ...(await creationOf(tx, 'group')) }
      await groups.save(tx, group)
      await recordAudit(tx, by, { action: 'group created', subject: name, after: { rules: group.rules } })
      return withRules(tx, group)
    })
  }

  /**
   * Removes the group from the store and from every owner. From then on it limits no owner; when many owners
   * have it, a job removes their assignments.
   * @returns whether it existed
   */
  remove(name: string, by?: Actor): Promise<boolean> {
    return this.#write(async (tx) => {
      const group = await groupNamed(tx, name)
      if (group === undefined) return false
      const before = { rules: group.rules, owners: await assignments.count(tx, 'group', [group.sequence]) }
      await removeGroup(tx, this.#jobs, group)
      await recordAudit(tx, by, { action: 'group deleted', subject: name, before })
      return true
    })
  }

  /**
   * Adds a rule to a group.
   * @throws AllotError not_found for an unknown group or rule, conflict when the group has the rule already
   */
  addRule(group: string, rule: string, by?: Actor): Promise<void> {
    return this.#write(async (tx) => {
      const before = await existingGroup(tx, group)
      if ((await rules.get(tx, [rule])) === undefined) throw missing('rule', rule)
      if (before.rules.includes(rule))
        throw new AllotError('conflict', `the rule ${rule} is already in the group ${group}`)
      await saveRules(tx, before, [...before.rules, rule], by)
    })
  }

  /**
   * Removes a rule from a group.
   * @throws AllotError not_found for an unknown group, or a rule that the group does not have
   */
  removeRule(group: string, rule: string, by?: Actor): Promise<void> {
    return this.#write(async (tx) => {
      const before = await existingGroup(tx, group)
      if (!before.rules.includes(rule))
        throw new AllotError('not_found', `the group ${group} does not have the rule ${rule}`)
      const kept = before.rules.filter((name) => name !== rule)
      await saveRules(tx, before, kept, by)
    })
  }

  /**
   * Assigns a group to an owner.
   * @throws AllotError not_found for an unknown owner or group, conflict when it is assigned already
   */
  assign(reference: OwnerReference, group: string, by?: Actor): Promise<void> {
    return this.#store.write(async (tx) => {
      if (!(await this.#setAssigned(tx, reference, { group, isAssigned: true, by })))
        throw new AllotError('conflict', `the group ${group} is already assigned`)
    })
  }

  /**
   * Takes a group from an owner.
   * @throws AllotError not_found when the owner or the group is unknown, or the group is not assigned
   */
  unassign(reference: OwnerReference, group: string, by?: Actor): Promise<void> {
    return this.#store.write(async (tx) => {
      if (!(await this.#setAssigned(tx, reference, { group, isAssigned: false, by })))
        throw new AllotError('not_found', `the group ${group} is not assigned to the owner`)
    })
  }

  /**
   * Assigns a group to several owners, or takes it from them, in one write. Owners that have it already, or
   * lack it, stay as they are.
   * @throws AllotError not_found for an unknown owner or group
   */
  setForAll(references: readonly OwnerReference[], assignment: AssignmentChange): Promise<void> {
    return this.#store.write(async (tx) => {
      await existingGroup(tx, assignment.group)
      for (const reference of references) await this.#setAssigned(tx, reference, assignment)
    })
  }

  /**
   * Replaces the groups of an owner.
   * @throws AllotError invalid for an unknown or repeated name; not_found for an unknown owner
   */
  async setFor(reference: OwnerReference, names: readonly string[], by?: Actor): Promise<void> {
    checkNames('groups', names)
    return this.#store.write(async (tx) => {
      const owner = await this.#changing(tx, reference)
      const before = await assignedTo(tx, owner)
      await removeBelongings(tx, 'owner', owner, 'now')
      for (const group of names) {
        const found = await groupNamed(tx, group)
        if (found === undefined) throw invalid(`there is no group named ${group}`)
        await assignments.save(tx, { owner, group: found.sequence })
      }
      await recordAssignment(tx, by, owner, before)
    })
  }

  async #setAssigned(
    tx: WriteContext,
    reference: OwnerReference,
    change: AssignmentChange,
  ): Promise<boolean> {
    return setAssigned(tx, await this.#changing(tx, reference), change)
  }

  /** The owner whose groups the transaction changes. */
  async #changing(tx: WriteContext, reference: OwnerReference): Promise<number> {
    const owner = await ownerIn(tx, reference)
    tx.afterCommit(() => this.#statuses.drop(owner))
    return owner
  }

  /** Runs a change that can concern every owner. */
  #write<T>(body: (tx: WriteContext) => Promise<T>): Promise<T> {
    return this.#store.write((tx) => {
      tx.afterCommit(() => this.#statuses.dropAll())
      return body(tx)
    })
  }
}

const saveRules = async (
  tx: WriteContext,
  before: Group,
  names: readonly string[],
  by: Actor | undefined,
): Promise<void> => {
  await groups.save(tx, { ...before, rules: [...names] })
  await recordDifference(tx, by, {
    action: 'group changed',
    subject: before.name,
    before: { rules: before.rules },
    after: { rules: names },
  })
}

export const readGroup = async (tx: ReadTransaction, name: string): Promise<QuotaGroup | undefined> => {
  const group = await groupNamed(tx, name)
  return group && withRules(tx, group)
}

/** Leaves an existing rule of that name as it is, even when the given limit or subjects differ. */
const createMissingRule = async (
  tx: WriteContext,
  { name, limit, subjects = [] }: NewRule,
  by: Actor | undefined,
) => {
  if ((await rules.get(tx, [name])) !== undefined) return
  if (limit === undefined) throw withoutLimit(name)
  await insertRule(tx, { name, limit, subjects }, by)
}
