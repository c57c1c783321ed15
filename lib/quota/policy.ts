import { groups, rules } from '../records/schema/index.ts'
import type { ReadTransaction } from '../storage/index.ts'
import type { QuotaGroup, QuotaRule } from './evaluate.ts'
import { toRule } from './rules.ts'
import { effectiveGroups, type QuotaDefaults } from './status.ts'

/** All rules and groups by name, with the defaults: the stored ones, or those that a plan proposes. */
export interface Policy {
  readonly rules: ReadonlyMap<string, QuotaRule>
  /** The names of each group's rules. */
  readonly groups: ReadonlyMap<string, readonly string[]>
  readonly defaults: QuotaDefaults
}

export const readPolicy = async (tx: ReadTransaction, defaults: QuotaDefaults): Promise<Policy> => {
  const policy = {
    rules: new Map<string, QuotaRule>(),
    groups: new Map<string, readonly string[]>(),
    defaults,
  }
  for await (const rule of rules.all(tx)) policy.rules.set(rule.name, toRule(rule))
  for await (const group of groups.all(tx)) policy.groups.set(group.name, group.rules)
  return policy
}

/** Returns the groups that apply to an owner. Equal names give the same array, so that arrays can be compared by identity. */
export type GroupResolver = (assigned: readonly string[]) => readonly QuotaGroup[]

export const groupResolver = ({ rules, groups, defaults }: Policy): GroupResolver => {
  const lists = new Map<string, readonly QuotaGroup[]>()
  const groupNamed = (name: string): QuotaGroup[] => {
    const names = groups.get(name)
    return names === undefined ? [] : [{ name, rules: names.flatMap((rule) => rules.get(rule) ?? []) }]
  }
  const resolve = (assigned: readonly string[]) => {
    const explicit = assigned.flatMap(groupNamed)
    return effectiveGroups(explicit.length > 0 ? explicit : defaults.groups.flatMap(groupNamed), defaults)
  }
  return (assigned) => {
    const key = JSON.stringify(assigned)
    const list = lists.get(key) ?? resolve(assigned)
    lists.set(key, list)
    return list
  }
}
