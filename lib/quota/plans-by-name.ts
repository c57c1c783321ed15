import type { Actor } from '../audit.ts'
import { checkArgument, checkPathName, invalidMember, isObject } from '../errors.ts'
import { paced } from '../records/pacing.ts'
import type { Page, Slice } from '../records/pages.ts'
import type { Store } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { byUtf8 } from './assigned-groups.ts'
import type { QuotaRule } from './evaluate.ts'
import type { QuotaEngine } from './index.ts'
import { NO_OWNER, type Owner, type OwnerDirectory } from './owners.ts'
import { differencesOf, type QuotaPlan } from './plan.ts'
import type { Difference, Differences } from './policy-changes.ts'
import { checkNames, checkWholeRule } from './rule-checks.ts'
import {
  type ChangedOwner,
  changedOwners,
  type Effects,
  effectsOf,
  type OwnerWithOtherGroups,
  ownersWithOtherGroups,
  type SimulationOptions,
} from './simulation.ts'

/** The wanted rules, groups and assignments, with owners by name. */
export interface NamedPlan extends Omit<QuotaPlan, 'assignments'> {
  /** Complete list of groups for each user or organization in it. */
  assignments?: Readonly<Record<string, readonly string[]>> | undefined
}

/** The changes of a plan. Rules, groups and assignments that are already as planned are left out. */
export interface NamedDifferences {
  /** Rules by name. */
  rules: Difference<string, QuotaRule>[]
  /** Names of the rules of groups, by name of the group. */
  groups: Difference<string, readonly string[]>[]
  /** Names of the groups of owners, by name of the owner. */
  assignments: Difference<string, readonly string[]>[]
}

interface PlansByNameServices {
  readonly store: Store
  readonly quota: QuotaEngine
  readonly owners: OwnerDirectory
}

/** Plans with the names of owners instead of ids. */
export class PlansByName {
  readonly #services: PlansByNameServices

  constructor(services: PlansByNameServices) {
    this.#services = services
  }

  /**
   * Applies the plan in one transaction. Applying it again changes nothing.
   * @returns what it changed, or would change with `dryRun`
   * @throws AllotError invalid for unknown or repeated owners, rules and groups
   */
  async apply(
    plan: NamedPlan,
    { dryRun, by }: { dryRun?: boolean | undefined; by?: Actor | undefined } = {},
  ): Promise<NamedDifferences> {
    checkPlan(plan)
    const { store, quota, owners } = this.#services
    const planned = async (tx: ReadTransaction, find: (name: string) => Promise<Owner | undefined>) => {
      const resolved = await this.#resolve(plan, find)
      const differences = await differencesOf(tx, resolved.plan, quota.defaults)
      return { differences, named: await this.#withNames(tx, differences, resolved.names) }
    }
    if (dryRun) return store.read(async (tx) => (await planned(tx, (name) => owners.find(tx, name))).named)
    return store.write(async (tx) => {
      const { differences, named } = await planned(tx, (name) => owners.claim(tx, name))
      await quota.changes.make(tx, differences, by)
      return named
    })
  }

  /** Lists the owners for whom the plan would change whether they are over quota. Stores nothing. */
  simulate(
    plan: NamedPlan & Pick<SimulationOptions, 'defaultGroups'>,
    slice: Slice,
  ): Promise<Page<ChangedOwner>> {
    return this.#simulate(plan, plan, (changed) => changedOwners(changed, slice))
  }

  /**
   * What a plan, or the deletion of a rule or a group, would do to all owners. Stores nothing.
   * @param limit owners that are listed at most
   */
  effectsOf(
    plan: NamedPlan,
    { without, limit }: Pick<SimulationOptions, 'without'> & { readonly limit: number },
  ): Promise<Effects> {
    return this.#simulate(plan, { without }, (changed) => effectsOf(changed, limit))
  }

  async #simulate<T>(
    plan: NamedPlan,
    options: SimulationOptions,
    report: (changed: AsyncIterable<OwnerWithOtherGroups>) => Promise<T>,
  ): Promise<T> {
    checkPlan(plan)
    const { store, quota, owners } = this.#services
    return store.read(async (tx) => {
      const resolved = await this.#resolve(plan, (name) => owners.find(tx, name))
      const now = { defaults: quota.defaults, owners: owners.ids }
      return report(ownersWithOtherGroups(tx, now, resolved.plan, options))
    })
  }

  /** @returns the plan with ids, and the name of each owner in it */
  async #resolve(plan: NamedPlan, find: (name: string) => Promise<Owner | undefined>) {
    const assignments = new Map<number, readonly string[]>()
    const names = new Map<number, string>()
    for await (const [name, groups] of paced(Object.entries(plan.assignments ?? {}))) {
      const owner = await find(name)
      if (owner === undefined)
        throw invalidMember('assignments', `there is no ${this.#services.owners.title} named ${name}`)
      // Owners that would be created get ids that no owner has.
      const id = owner.id === NO_OWNER ? -1 - assignments.size : owner.id
      if (assignments.has(id)) throw invalidMember('assignments', `${owner.name} is named twice`)
      assignments.set(id, groups.toSorted(byUtf8))
      names.set(id, owner.name)
    }
    return { plan: { ...plan, assignments }, names }
  }

  async #withNames(
    tx: ReadTransaction,
    differences: Differences,
    names: ReadonlyMap<number, string>,
  ): Promise<NamedDifferences> {
    // With `prune`, owners that are not in the plan lose their groups.
    const others = differences.assignments.map(({ key }) => key).filter((key) => !names.has(key))
    const found = await this.#services.owners.byIds(tx, others)
    return {
      ...differences,
      assignments: differences.assignments.map((difference) => {
        const { key } = difference
        return { ...difference, key: names.get(key) ?? found.get(key)?.name ?? `#${key}` }
      }),
    }
  }
}

/**
 * @throws AllotError invalid for a plan without its form, which a host can pass in process, and for repeated
 * names
 */
const checkPlan = (plan: NamedPlan): void => {
  checkArgument(isObject(plan), 'plan', 'an object with rules, groups and assignments', plan)
  const { rules = [], groups = [], assignments: assigned = {}, prune } = plan
  checkArgument(prune === undefined || typeof prune === 'boolean', 'prune', 'true or false', prune)
  checkArgument(Array.isArray(rules), 'rules', 'a list of rules', rules)
  for (const rule of rules) checkWholeRule(rule)
  checkArgument(Array.isArray(groups), 'groups', 'a list of groups', groups)
  for (const group of groups) {
    checkArgument(isObject(group), 'group', 'an object with name and rules', group)
    checkPathName(group.name)
    checkNames(`groups.${group.name}.rules`, group.rules)
  }
  checkNames('rules', rules.map(nameOf))
  checkNames('groups', groups.map(nameOf))
  // Object.entries finds nothing in a Map.
  const isRecord = isObject(assigned) && !(Symbol.iterator in assigned)
  checkArgument(isRecord, 'assignments', 'an object with a list of groups for each owner', assigned)
  for (const names of Object.values(assigned)) checkNames('assignments', names)
}

const nameOf = ({ name }: { name: string }) => name
