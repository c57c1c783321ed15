import { AllotError, invalid } from '../errors.ts'
import { assignments, type Group, groups, rules } from '../records/schema/index.ts'
import type { Store, WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import type { QuotaGroup } from './evaluate.ts'
import { checkName, checkRule, refuseRepeated, toRule } from './rules.ts'
import type { Subject } from './subjects.ts'

/** An owner's id, or a function that finds the owner in the transaction that changes its groups. */
type OwnerReference = number | ((tx: ReadTransaction) => Promise<{ id: number } | undefined>)

/** Quota groups, and which owners they are assigned to. */
export interface Groups {
  list(at: { offset: number; limit: number }): Promise<{ items: QuotaGroup[]; total: number }>
  get(name: string): Promise<QuotaGroup | undefined>
  /** @throws AllotError conflict when the name is taken; invalid when a rule is unknown, or named twice. */
  create(group: NewGroup): Promise<QuotaGroup>
  /** Removes the group from the store and from every owner. @returns whether it existed */
  remove(name: string): Promise<boolean>
  /** @throws AllotError not_found for an unknown group or rule, conflict when the group has the rule already */
  addRule(group: string, rule: string): Promise<void>
  /** @throws AllotError not_found for an unknown group, or a rule that the group does not have */
  removeRule(group: string, rule: string): Promise<void>
  /** @throws AllotError not_found for an unknown owner or group, conflict when it is assigned already */
  assign(owner: OwnerReference, group: string): Promise<void>
  /** @throws AllotError not_found when the owner or the group is unknown, or the group is not assigned */
  unassign(owner: OwnerReference, group: string): Promise<void>
  /** Replaces the groups of an owner. @throws AllotError invalid for an unknown or repeated name */
  setFor(owner: OwnerReference, names: readonly string[]): Promise<void>
  assignedTo(owner: number): Promise<string[]>
  /** Ids of the owners that the group is assigned to; undefined when the group does not exist */
  members(
    group: string,
    at: { offset: number; limit: number },
  ): Promise<{ items: number[]; total: number } | undefined>
}

interface NewGroup {
  name: string
  /** Names of existing rules, or whole rules, which are created unless a rule of that name exists. */
  rules?: readonly (string | NewRule)[] | undefined
}

interface NewRule {
  name: string
  limit?: number | undefined
  subjects?: readonly Subject[] | undefined
}

/** @param onChange called after a durable change, which can concern every owner */
export const createGroups = (store: Store, onChange: () => void): Groups => ({
  ...groupQueries(store),
  ...groupChanges(store, onChange),
})

const groupQueries = (store: Store): Pick<Groups, 'list' | 'get' | 'assignedTo' | 'members'> => ({
  list: (at) =>
    store.read(async (tx) => {
      const found = await groups.list(tx, 'sequence', { prefix: [], ...at })
      return {
        items: await Promise.all(found.map((group) => withRules(tx, group))),
        total: await groups.count(tx, 'all', []),
      }
    }),
  get: (name) => store.read((tx) => readGroup(tx, name)),
  assignedTo: (owner) => store.read((tx) => assignedTo(tx, owner)),
  members: (name, at) =>
    store.read(async (tx) => {
      if ((await groups.get(tx, [name])) === undefined) return undefined
      const found = await assignments.list(tx, 'group', { prefix: [name], ...at })
      return { items: found.map(({ owner }) => owner), total: await assignments.count(tx, 'group', [name]) }
    }),
})

const groupChanges = (
  store: Store,
  onChange: () => void,
): Pick<Groups, 'create' | 'remove' | 'addRule' | 'removeRule' | 'assign' | 'unassign' | 'setFor'> => {
  const write = <T>(body: (tx: WriteContext) => Promise<T>) =>
    store.write((tx) => {
      tx.afterCommit(onChange)
      return body(tx)
    })
  return {
    async create(group) {
      checkName(group.name)
      const sequence = await store.sequences.next('group')
      const given = (group.rules ?? []).map((rule) => (typeof rule === 'string' ? { name: rule } : rule))
      for (const rule of given) checkRule(rule)
      const numbered = await Promise.all(
        given.map(async (rule) => ({ ...rule, sequence: await store.sequences.next('rule') })),
      )
      return write(async (tx) => {
        await refuseTaken(tx, group.name)
        const rules = numbered.map((rule) => rule.name)
        refuseRepeated('rules', rules)
        for (const rule of numbered) await createMissingRule(tx, rule)
        await groups.save(tx, { name: group.name, rules, sequence })
        return withRules(tx, { name: group.name, rules, sequence })
      })
    },
    remove: (name) =>
      write(async (tx) => {
        for (const { owner } of await assignments.list(tx, 'group', { prefix: [name] }))
          await assignments.remove(tx, [owner, name])
        return (await groups.remove(tx, [name])) !== undefined
      }),
    addRule: (name, rule) =>
      write(async (tx) => {
        const group = await existing(tx, name)
        if ((await rules.get(tx, [rule])) === undefined) throw missing('rule', rule)
        if (group.rules.includes(rule))
          throw new AllotError('conflict', `the rule ${rule} is already in the group ${name}`)
        await groups.save(tx, { ...group, rules: [...group.rules, rule] })
      }),
    removeRule: (name, rule) =>
      write(async (tx) => {
        const group = await existing(tx, name)
        if (!group.rules.includes(rule)) throw missing('rule', rule)
        await groups.save(tx, { ...group, rules: group.rules.filter((other) => other !== rule) })
      }),
    assign: (reference, name) =>
      write(async (tx) => {
        const owner = await ownerIn(tx, reference)
        await existing(tx, name)
        if ((await assignments.save(tx, { owner, group: name })) !== undefined)
          throw new AllotError('conflict', `the group ${name} is already assigned`)
      }),
    unassign: (reference, name) =>
      write(async (tx) => {
        const owner = await ownerIn(tx, reference)
        if ((await assignments.remove(tx, [owner, name])) === undefined) throw missing('group', name)
      }),
    setFor: (owner, names) => write(async (tx) => setFor(tx, await ownerIn(tx, owner), names)),
  }
}

/** Resolves the owner in the transaction itself, since the account could have been deleted after the request began. */
const ownerIn = async (tx: ReadTransaction, reference: OwnerReference): Promise<number> => {
  if (typeof reference === 'number') return reference
  const owner = await reference(tx)
  if (owner === undefined) throw new AllotError('not_found', 'there is no such owner')
  return owner.id
}

export const assignedTo = async (tx: ReadTransaction, owner: number): Promise<string[]> =>
  (await assignments.list(tx, 'owner', { prefix: [owner] })).map((assignment) => assignment.group)

export const readGroup = async (tx: ReadTransaction, name: string): Promise<QuotaGroup | undefined> => {
  const group = await groups.get(tx, [name])
  return group && withRules(tx, group)
}

/** Removes a deleted owner from every group. */
export const unassignAll = async (tx: WriteContext, owner: number): Promise<void> => {
  for (const name of await assignedTo(tx, owner)) await assignments.remove(tx, [owner, name])
}

const withRules = async (tx: ReadTransaction, group: Group): Promise<QuotaGroup> => {
  const found = await rules.getMany(
    tx,
    group.rules.map((name) => [name]),
  )
  return { name: group.name, rules: found.flatMap((rule) => (rule === undefined ? [] : [toRule(rule)])) }
}

const refuseTaken = async (tx: ReadTransaction, name: string) => {
  if ((await groups.get(tx, [name])) !== undefined)
    throw new AllotError('conflict', `a group named ${name} already exists`)
}

/** Leaves an existing rule of that name as it is, even when the given limit or subjects differ. */
const createMissingRule = async (
  tx: WriteContext,
  { name, limit, subjects, sequence }: NewRule & { sequence: number },
) => {
  if ((await rules.get(tx, [name])) !== undefined) return
  if (limit === undefined)
    throw invalid(`there is no rule named ${name}, and without a Limit none is created`)
  await rules.save(tx, { name, limit, subjects: [...(subjects ?? [])], sequence })
}

const setFor = async (tx: WriteContext, owner: number, names: readonly string[]) => {
  refuseRepeated('groups', names)
  await unassignAll(tx, owner)
  for (const name of names) {
    if ((await groups.get(tx, [name])) === undefined) throw invalid(`there is no group named ${name}`)
    await assignments.save(tx, { owner, group: name })
  }
}

const existing = async (tx: WriteContext, name: string): Promise<Group> => {
  const group = await groups.get(tx, [name])
  if (group === undefined) throw missing('group', name)
  return group
}

const missing = (what: string, name: string) =>
  new AllotError('not_found', `there is no ${what} named ${name}`)
