import { accountByName } from '../accounts/access.ts'
import { invalid } from '../errors.ts'
import type { QuotaRule } from '../quota/evaluate.ts'
import type { QuotaEngine } from '../quota/index.ts'
import type { Difference, Differences, QuotaPlan } from '../quota/plan.ts'
import type { ChangedOwner } from '../quota/plans.ts'
import { accounts } from '../records/schema/index.ts'
import type { Store } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'

/** The wanted rules, groups and assignments, with owners by name. */
export interface NamedPlan extends Omit<QuotaPlan, 'assignments'> {
  /** Complete list of groups for each user or organization in it. */
  assignments?: Readonly<Record<string, readonly string[]>> | undefined
}

export interface NamedDifferences {
  rules: Difference<string, QuotaRule>[]
  groups: Difference<string, readonly string[]>[]
  assignments: Difference<string, readonly string[]>[]
}

export interface NamedPlans {
  /**
   * Applies the plan in one transaction. Applying it again changes nothing.
   * @returns what it changed, or would change with `dryRun`
   * @throws AllotError invalid for unknown or repeated owners, rules and groups
   */
  apply(plan: NamedPlan, options?: { dryRun?: boolean | undefined }): Promise<NamedDifferences>
  /** Lists the owners for whom the plan would change whether they are over quota. Stores nothing. */
  simulate(
    plan: NamedPlan & { defaultGroups?: readonly string[] | undefined },
    at: { offset: number; limit: number },
  ): Promise<{ items: ChangedOwner[]; total: number }>
}

export const createNamedPlans = (store: Store, { plans }: QuotaEngine): NamedPlans => {
  return {
    async apply(plan, { dryRun = false } = {}) {
      if (dryRun)
        return store.read(async (tx) => withNames(tx, await plans.differences(tx, await withIds(tx, plan))))
      const numbers = await plans.numbers(withoutAssignments(plan))
      return store.write(async (tx) => withNames(tx, await plans.apply(tx, await withIds(tx, plan), numbers)))
    },
    simulate: ({ defaultGroups, ...plan }, at) =>
      store.read(async (tx) => plans.simulate(tx, await withIds(tx, plan), at, defaultGroups)),
  }
}

const withoutAssignments = ({ assignments: _, ...plan }: NamedPlan): QuotaPlan => plan

const withIds = async (tx: ReadTransaction, plan: NamedPlan): Promise<QuotaPlan> => {
  const assignments = new Map<number, readonly string[]>()
  for (const [name, groups] of Object.entries(plan.assignments ?? {})) {
    const owner = await accountByName(tx, name)
    if (owner === undefined) throw invalid(`assignments: there is no user or organization named ${name}`)
    if (assignments.has(owner.id)) throw invalid(`assignments: ${owner.name} is named twice`)
    assignments.set(owner.id, groups)
  }
  return {
    ...withoutAssignments(plan),
    assignments: [...assignments].map(([owner, groups]) => ({ owner, groups })),
  }
}

const withNames = async (tx: ReadTransaction, differences: Differences): Promise<NamedDifferences> => {
  const owners = await accounts.getMany(
    tx,
    differences.assignments.map(({ key }) => [key]),
  )
  return {
    ...differences,
    assignments: differences.assignments.map((difference, index) => ({
      ...difference,
      key: owners[index]?.name ?? `#${difference.key}`,
    })),
  }
}
