import type { Actor } from '../audit.ts'
import { AllotError, checkArgument, checkPathName, existing, invalid, isObject } from '../errors.ts'
import type { Page, Slice } from '../records/pages.ts'
import { assignments, groups, rules } from '../records/schema/index.ts'
import type { Store, WriteContext } from '../records/store.ts'
import { assignedTo, byUtf8, existingGroup, groupNamed, missing, withRules } from './assigned-groups.ts'
import type { QuotaGroup, QuotaRule } from './evaluate.ts'
import type { Owner } from './owners.ts'
import type { Difference, PolicyChanges } from './policy-changes.ts'
import { checkNames, checkRule, toRule } from './rule-checks.ts'
import type { Subject } from './subjects.ts'

/** An owner's id, or a function that finds the owner in the transaction that changes its groups. */
type OwnerReference = number | ((tx: WriteContext) => Promise<Pick<Owner, 'id'> | undefined>)

interface AssignmentChange {
  /** Name of the group. */
  group: string
  /** Whether owners get the group, and do not lose it. */
  isAssigned: boolean
  /** Who does that, for the audit log; absent: the host. */
  by?: Actor | undefined
}

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
  readonly #changes: PolicyChanges

  constructor(store: Store, changes: PolicyChanges) {
    this.#store = store
    this.#changes = changes
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
    return this.#store.read(async (tx) => {
      const group = await groupNamed(tx, name)
      return group && withRules(tx, group)
    })
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
    return this.#store.write(async (tx) => {
      if ((await groupNamed(tx, name)) !== undefined)
        throw new AllotError('conflict', `a group named ${name} already exists`, { field: 'name' })
      const missingRules = (await Promise.all(newRules.map((rule) => missingRule(tx, rule)))).flat()
      const group = { key: name, before: undefined, after: names }
      await this.#changes.make(tx, { rules: missingRules, groups: [group] }, by)
      return withRules(tx, (await groupNamed(tx, name))!)
    })
  }

  /**
   * Removes the group from the store and from every owner. From then on it limits no owner; when many owners
   * have it, a job removes their assignments.
   * @returns whether it existed
   */
  remove(name: string, by?: Actor): Promise<boolean> {
    return this.#store.write(async (tx) => {
      const group = await groupNamed(tx, name)
      if (group === undefined) return false
      await this.#changes.make(tx, { groups: [{ key: name, before: group.rules, after: undefined }] }, by)
      return true
    })
  }

  /**
   * Adds a rule to a group.
   * @throws AllotError not_found for an unknown group or rule, conflict when the group has the rule already
   */
  addRule(group: string, rule: string, by?: Actor): Promise<void> {
    return this.#changeRules(group, by, async (tx, before) => {
      if ((await rules.get(tx, [rule])) === undefined) throw missing('rule', rule)
      if (before.includes(rule))
        throw new AllotError('conflict', `the rule ${rule} is already in the group ${group}`)
      return [...before, rule]
    })
  }

  /**
   * Removes a rule from a group.
   * @throws AllotError not_found for an unknown group, or a rule that the group does not have
   */
  removeRule(group: string, rule: string, by?: Actor): Promise<void> {
    return this.#changeRules(group, by, async (_tx, before) => {
      if (!before.includes(rule))
        throw new AllotError('not_found', `the group ${group} does not have the rule ${rule}`)
      return before.filter((name) => name !== rule)
    })
  }

  /**
   * Assigns a group to an owner.
   * @throws AllotError not_found for an unknown owner or group, conflict when it is assigned already
   */
  async assign(reference: OwnerReference, group: string, by?: Actor): Promise<void> {
    if (!(await this.#setForAll([reference], { group, isAssigned: true, by })))
      throw new AllotError('conflict', `the group ${group} is already assigned`)
  }

  /**
   * Takes a group from an owner.
   * @throws AllotError not_found when the owner or the group is unknown, or the group is not assigned
   */
  async unassign(reference: OwnerReference, group: string, by?: Actor): Promise<void> {
    if (!(await this.#setForAll([reference], { group, isAssigned: false, by })))
      throw new AllotError('not_found', `the group ${group} is not assigned to the owner`)
  }

  /**
   * Assigns a group to several owners, or takes it from them, in one write. Owners that have it already, or
   * lack it, stay as they are.
   * @throws AllotError not_found for an unknown owner or group
   */
  async setForAll(references: readonly OwnerReference[], assignment: AssignmentChange): Promise<void> {
    await this.#setForAll(references, assignment)
  }

  /**
   * Replaces the groups of an owner.
   * @throws AllotError invalid for an unknown or repeated name; not_found for an unknown owner
   */
  async setFor(reference: OwnerReference, names: readonly string[], by?: Actor): Promise<void> {
    checkNames('groups', names)
    return this.#store.write(async (tx) => {
      const owner = await ownerIn(tx, reference)
      const before = await assignedTo(tx, owner)
      for (const name of names)
        if ((await groupNamed(tx, name)) === undefined) throw invalid(`there is no group named ${name}`)
      await this.#changes.make(
        tx,
        { assignments: [{ key: owner, before, after: names.toSorted(byUtf8) }] },
        by,
      )
    })
  }

  /** @returns whether that changed anything */
  #setForAll(
    references: readonly OwnerReference[],
    { group, isAssigned, by }: AssignmentChange,
  ): Promise<boolean> {
    return this.#store.write(async (tx) => {
      const owners: number[] = []
      for (const reference of references) owners.push(await ownerIn(tx, reference))
      await existingGroup(tx, group)
      const changed: Difference<number, readonly string[]>[] = []
      for (const owner of owners) {
        const before = await assignedTo(tx, owner)
        if (before.includes(group) === isAssigned) continue
        const others = before.filter((name) => name !== group)
        changed.push({ key: owner, before, after: isAssigned ? [...others, group].sort(byUtf8) : others })
      }
      await this.#changes.make(tx, { assignments: changed }, by)
      return changed.length > 0
    })
  }

  /** @param change returns the names of the rules that the group has from then on */
  #changeRules(
    group: string,
    by: Actor | undefined,
    change: (tx: WriteContext, before: readonly string[]) => Promise<string[]>,
  ): Promise<void> {
    return this.#store.write(async (tx) => {
      const { rules: before } = await existingGroup(tx, group)
      const after = await change(tx, before)
      await this.#changes.make(tx, { groups: [{ key: group, before, after }] }, by)
    })
  }
}

/**
 * Resolves the owner in the transaction itself, since the account could have been deleted after the request
 * began.
 */
const ownerIn = async (tx: WriteContext, reference: OwnerReference): Promise<number> => {
  if (typeof reference === 'number') return reference
  return existing(await reference(tx), 'there is no such owner').id
}

/** An existing rule of that name stays as it is, even when the given limit or subjects differ. */
const missingRule = async (
  tx: WriteContext,
  { name, limit, subjects = [] }: NewRule,
): Promise<Difference<string, QuotaRule>[]> => {
  if ((await rules.get(tx, [name])) !== undefined) return []
  if (limit === undefined) throw invalid(`there is no rule named ${name}: give a limit to create it`)
  return [{ key: name, before: undefined, after: toRule({ name, limit, subjects }) }]
}
