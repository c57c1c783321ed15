import { AllotError, invalid } from '../errors.ts'
import { assignments, type Group, groups, rules } from '../records/schema/index.ts'
import type { Store, WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/driver.ts'
import type { QuotaGroup } from './evaluate.ts'
import { checkName, checkRule, toRule } from './rules.ts'
import type { Subject } from './subjects.ts'

/** An owner by id, or how to find one within the transaction that gives it a group. */
export type OwnerReference = number | ((tx: ReadTransaction) => Promise<{ id: number } | undefined>)

/** Quota groups, and which owners they are assigned to. */
export interface Groups {
  list(at: { offset: number; limit: number }): Promise<{ items: QuotaGroup[]; total: number }>
  get(name: string): Promise<QuotaGroup | undefined>
  /** @throws AllotError conflict when the name is taken; invalid when a rule is unknown, or named twice. */
  create(group: NewGroup): Promise<QuotaGroup>
  /** Removes the group and takes it from every owner; answers whether there was one. */
  remove(name: string): Promise<boolean>
  /** @throws AllotError not_found for an unknown group or rule, conflict when the rule is in the group already. */
  addRule(group: string, rule: string): Promise<void>
  /** @throws AllotError not_found for an unknown group, or a rule that is not in it. */
  removeRule(group: string, rule: string): Promise<void>
  /** @throws AllotError not_found for an unknown owner or group, conflict when it is assigned already. */
  assign(owner: OwnerReference, group: string): Promise<void>
  /** @throws AllotError not_found when the owner or the group is unknown, or not assigned. */
  unassign(owner: OwnerReference, group: string): Promise<void>
  /** Sets the whole list of an owner. @throws AllotError invalid for an unknown or repeated name; nothing changes then. */
  setFor(owner: OwnerReference, names: readonly string[]): Promise<void>
  assignedTo(owner: number): Promise<string[]>
  /** Ids of the owners that the group is assigned to; undefined when there is no such group. */
  members(
    group: string,
    at: { offset: number; limit: number },
  ): Promise<{ items: number[]; total: number } | undefined>
}

export interface NewGroup {
  name: string
  /** Names of rules that exist; or whole ones, which are created where there is none of that name. */
  rules?: readonly (string | NewRule)[] | undefined
}

interface NewRule {
  name: string
  limit?: number | undefined
  subjects?: readonly Subject[] | undefined
}

/** @param onChange called after a change is durable: it may concern every owner. */
export const createGroups = (store: Store, onChange: () => void): Groups => {
  const write = <T>(work: (tx: WriteContext) => Promise<T>) =>
    store.write((tx) => {
      tx.afterCommit(onChange)
      return work(tx)
    })

  return {
    list: (at) =>
      store.read(async (tx) => {
        const found = await groups.list(tx, 'sequence', { prefix: [], ...at })
        return {
          items: await Promise.all(found.map((group) => withRules(tx, group))),
          total: await groups.count(tx, 'all', []),
        }
      }),
    get: (name) => store.read((tx) => readGroup(tx, name)),
    async create(group) {
      checkName(group.name)
      const sequence = await store.sequences.next('group')
      const named = (group.rules ?? []).map((rule) => (typeof rule === 'string' ? { name: rule } : rule))
      for (const rule of named) checkRule(rule)
      const ruleSequences = await Promise.all(named.map(() => store.sequences.next('rule')))
      const made = named.map((rule, at) => ({ ...rule, sequence: ruleSequences[at]! }))
      return write(async (tx) => {
        await refuseTaken(tx, group.name)
        const rules = made.map((rule) => rule.name)
        refuseRepeated('rule', rules)
        for (const rule of made) await createMissingRule(tx, rule)
        await groups.save(tx, { name: group.name, rules, sequence })
        return withRules(tx, { name: group.name, rules, sequence })
      })
    },
    remove: (name) =>
      write(async (tx) => {
        for (const one of await assignments.list(tx, 'group', { prefix: [name] }))
          await assignments.remove(tx, [one.owner, name])
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
    assign: (given, name) =>
      write(async (tx) => {
        const owner = await ownerIn(tx, given)
        await existing(tx, name)
        const before = await assignments.save(tx, { owner, group: name })
        if (before !== undefined) throw new AllotError('conflict', `the group ${name} is already assigned`)
      }),
    unassign: (given, name) =>
      write(async (tx) => {
        const owner = await ownerIn(tx, given)
        if ((await assignments.remove(tx, [owner, name])) === undefined) throw missing('group', name)
      }),
    setFor: (owner, names) => write(async (tx) => setFor(tx, await ownerIn(tx, owner), names)),
    assignedTo: (owner) => store.read((tx) => assignedTo(tx, owner)),
    members: (name, at) =>
      store.read(async (tx) => {
        if ((await groups.get(tx, [name])) === undefined) return undefined
        const found = await assignments.list(tx, 'group', { prefix: [name], ...at })
        return { items: found.map((one) => one.owner), total: await assignments.count(tx, 'group', [name]) }
      }),
  }
}

/** A group must not be given to whoever is deleted meanwhile. */
const ownerIn = async (tx: ReadTransaction, given: OwnerReference): Promise<number> => {
  if (typeof given === 'number') return given
  const owner = await given(tx)
  if (owner === undefined) throw new AllotError('not_found', 'there is no such owner')
  return owner.id
}

export const assignedTo = async (tx: ReadTransaction, owner: number): Promise<string[]> =>
  (await assignments.list(tx, 'owner', { prefix: [owner] })).map((assignment) => assignment.group)

export const readGroup = async (tx: ReadTransaction, name: string): Promise<QuotaGroup | undefined> => {
  const group = await groups.get(tx, [name])
  return group && withRules(tx, group)
}

/** Takes every group from an owner that is deleted. */
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

/** A rule that exists stays as it is, whatever limit and subjects come with its name. */
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
  refuseRepeated('group', names)
  await unassignAll(tx, owner)
  for (const name of names) {
    if ((await groups.get(tx, [name])) === undefined) throw invalid(`there is no group named ${name}`)
    await assignments.save(tx, { owner, group: name })
  }
}

const refuseRepeated = (what: string, names: readonly string[]) => {
  const seen = new Set<string>()
  const repeated = names.find((name) => seen.size === seen.add(name).size)
  if (repeated !== undefined) throw invalid(`the ${what} ${repeated} is named twice`)
}

const existing = async (tx: WriteContext, name: string): Promise<Group> => {
  const group = await groups.get(tx, [name])
  if (group === undefined) throw missing('group', name)
  return group
}

const missing = (what: string, name: string) =>
  new AllotError('not_found', `there is no ${what} named ${name}`)
