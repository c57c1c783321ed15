/** Which groups apply to an owner: for one owner, with the usage, and for reports about all owners. */
import { type Group, groups, ownerUsages, rules } from '../records/schema/index.ts'
import type { Store } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { byUtf8, groupNamed, groupsOf, withRules } from './assigned-groups.ts'
import {
  bindingSubject,
  explain,
  isWithin,
  type QuotaExplanation,
  type QuotaGroup,
  type QuotaRule,
} from './evaluate.ts'
import { toRule } from './rule-checks.ts'
import type { Subject, Usage } from './subjects.ts'
import { usageOfRecord } from './usage.ts'

/** Everything that an evaluation needs to know about one owner. */
export interface QuotaStatus {
  readonly usage: Usage
  /** Groups that apply to the owner. */
  readonly groups: readonly QuotaGroup[]
  /** Groups that apply and are stored: all but the one of the option `quota.defaultTotal`. */
  readonly storedGroups: readonly QuotaGroup[]
}

/** Whether the owner is over quota for a subject. */
export const isOver = ({ groups, usage }: QuotaStatus, subject: Subject): boolean =>
  !isWithin(groups, subject, usage)

/** @param subject undefined: the one whose limit the owner meets first */
export const explanationOf = ({ groups, usage }: QuotaStatus, subject?: Subject): QuotaExplanation =>
  explain(groups, subject ?? bindingSubject(groups, usage), usage)

/** Apply to owners that are in no group. */
export interface QuotaDefaults {
  /** Names of the default groups. */
  groups: readonly string[]
  /** Limit in bytes on `size:all` when no group applies; absent: no limit. */
  total?: number | undefined
}

/** The status of owners, which the store keeps until a record that it follows from changes. */
export class Statuses {
  readonly #store: Store
  readonly #defaults: QuotaDefaults

  constructor(store: Store, defaults: QuotaDefaults) {
    this.#store = store
    this.#defaults = defaults
  }

  of(owner: number): Promise<QuotaStatus> {
    return this.#store.cached(`quota of ${owner}`, (tx) => this.read(tx, owner))
  }

  /** The status in a transaction. */
  async read(tx: ReadTransaction, owner: number): Promise<QuotaStatus> {
    const defaults = this.#defaults
    // At once, which saves a round trip where a network is between.
    const [record, storedGroups] = await Promise.all([
      ownerUsages.get(tx, [owner]),
      readStoredGroups(tx, owner, defaults),
    ])
    return { usage: usageOfRecord(record), storedGroups, groups: effectiveGroups(storedGroups, defaults) }
  }
}

const readStoredGroups = async (
  tx: ReadTransaction,
  owner: number,
  defaults: QuotaDefaults,
): Promise<QuotaGroup[]> => {
  const assigned = await groupsOf(tx, owner)
  const found = assigned.length > 0 ? assigned : await groupsNamed(tx, defaults.groups)
  return Promise.all(found.map((group) => withRules(tx, group)))
}

const groupsNamed = async (tx: ReadTransaction, names: readonly string[]): Promise<Group[]> => {
  const found = await Promise.all(names.map((name) => groupNamed(tx, name)))
  return found.filter((group) => group !== undefined)
}

/** @returns those names that no group has */
export const missingGroups = async (tx: ReadTransaction, names: readonly string[]): Promise<string[]> => {
  const found = new Set((await groupsNamed(tx, names)).map((group) => group.name))
  return names.filter((name) => !found.has(name))
}

/** Name of the rule that the option `quota.defaultTotal` stands for, and of the group that holds it. */
const DEFAULT_TOTAL = 'default total'

/** The given groups, or the one of `quota.defaultTotal` when there are none. */
const effectiveGroups = (groups: readonly QuotaGroup[], { total }: QuotaDefaults): readonly QuotaGroup[] => {
  if (groups.length > 0 || total === undefined) return groups
  return [{ name: DEFAULT_TOTAL, rules: [{ name: DEFAULT_TOTAL, limit: total, subjects: ['size:all'] }] }]
}

/** All rules and groups by name, with the defaults: the stored ones, or those that a plan proposes. */
export interface Policy {
  readonly rules: ReadonlyMap<string, QuotaRule>
  /** The names of each group's rules. */
  readonly groups: ReadonlyMap<string, readonly string[]>
  readonly defaults: QuotaDefaults
}

export interface StoredPolicy extends Policy {
  /** Names of the groups by number. */
  readonly names: ReadonlyMap<number, string>
}

export const readPolicy = async (tx: ReadTransaction, defaults: QuotaDefaults): Promise<StoredPolicy> => {
  const policy = {
    rules: new Map<string, QuotaRule>(),
    groups: new Map<string, readonly string[]>(),
    names: new Map<number, string>(),
    defaults,
  }
  for await (const rule of rules.all(tx)) policy.rules.set(rule.name, toRule(rule))
  const stored: Group[] = []
  for await (const group of groups.all(tx)) stored.push(group)
  for (const group of stored.sort((one, other) => byUtf8(one.name, other.name))) {
    policy.groups.set(group.name, group.rules)
    policy.names.set(group.sequence, group.name)
  }
  return policy
}

/**
 * @param assigned names of the groups that are assigned to an owner
 * @returns the groups that apply to it
 */
type GroupResolver = (assigned: readonly string[]) => readonly QuotaGroup[]

/** Resolves each list of names once, since most owners have the same groups. */
export const groupResolver = ({ rules, groups, defaults }: Policy): GroupResolver => {
  const lists = new Map<string, readonly QuotaGroup[]>()
  const groupNamed = (name: string): QuotaGroup[] => {
    const names = groups.get(name)
    return names === undefined ? [] : [{ name, rules: names.flatMap((rule) => rules.get(rule) ?? []) }]
  }
  const resolve = (assigned: readonly string[]) => {
    const found = assigned.flatMap(groupNamed)
    return effectiveGroups(found.length > 0 ? found : defaults.groups.flatMap(groupNamed), defaults)
  }
  return (assigned) => {
    const key = JSON.stringify(assigned)
    const list = lists.get(key) ?? resolve(assigned)
    lists.set(key, list)
    return list
  }
}
