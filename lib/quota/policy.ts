import { groups, rules } from '../records/schema/index.ts'
import type { ReadTransaction } from '../storage/driver.ts'
import type { QuotaGroup, QuotaRule } from './evaluate.ts'
import { toRule } from './rules.ts'
import { effectiveGroups, type QuotaDefaults } from './status.ts'

/** All rules and groups by name, and the defaults: what every owner is judged by, as it is or as somebody proposes it. */
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

/** Gives the groups that an owner is judged by: the same list for the same names, so that lists can be compared. */
export type GroupResolver = (assigned: readonly string[]) => readonly QuotaGroup[]

export const groupResolver = ({ rules, groups, defaults }: Policy): GroupResolver => {
  const lists = new Map<string, readonly QuotaGroup[]>()
  const groupNamed = (name: string): QuotaGroup[] => {
    const names = groups.get(name)
    return names === undefined ? [] : [{ name, rules: names.flatMap((rule) => rules.get(rule) ?? []) }]
  }
  const judge = (assigned: readonly string[]) => {
    const explicit = assigned.flatMap(groupNamed)
    return effectiveGroups(explicit.length > 0 ? explicit : defaults.groups.flatMap(groupNamed), defaults)
  }
  return (assigned) => {
    const key = JSON.stringify(assigned)
    const list = lists.get(key) ?? judge(assigned)
    lists.set(key, list)
    return list
  }
}
