import { accountByName } from '../accounts/access.ts'
import { invalid } from '../errors.ts'
import type { QuotaRule } from '../quota/evaluate.ts'
import type { QuotaEngine } from '../quota/index.ts'
import type { Difference, Differences, QuotaPlan } from '../quota/plan.ts'
import type { ChangedOwner, PlanNumbers } from '../quota/plans.ts'
import { accounts } from '../records/schema/index.ts'
import type { Store, WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/driver.ts'

/** Quota as code: rules, groups and assignments as they should be, with owners by their names. */
export interface NamedPlan extends Omit<QuotaPlan, 'assignments'> {
  /** The whole list of groups of each user or organization that is named. */
  assignments?: Readonly<Record<string, readonly string[]>> | undefined
}

export interface NamedDifferences {
  rules: Difference<string, QuotaRule>[]
  groups: Difference<string, readonly string[]>[]
  assignments: Difference<string, readonly string[]>[]
}

export interface NamedPlans {
  /**
   * Makes everything as the plan says, in one transaction, and answers what that changed: nothing the second time.
   * @throws AllotError invalid for an owner, a rule or a group that is not there, or is named twice; nothing changes then.
   */
  apply(plan: NamedPlan, options?: { dryRun?: boolean | undefined }): Promise<NamedDifferences>
  /** The owners whose answer would change; nothing is stored. */
  simulate(
    plan: NamedPlan & { defaultGroups?: readonly string[] | undefined },
    at: { offset: number; limit: number },
  ): Promise<{ items: ChangedOwner[]; total: number }>
}

export const createNamedPlans = (store: Store, { plans }: QuotaEngine): NamedPlans => {
  const carryOut = async (tx: WriteContext, plan: NamedPlan, numbers: PlanNumbers) =>
    named(tx, await plans.apply(tx, await resolved(tx, plan), numbers))

  return {
    async apply(plan, { dryRun = false } = {}) {
      if (dryRun)
        return store.read(async (tx) => named(tx, await plans.differences(tx, await resolved(tx, plan))))
      const numbers = await plans.numbers(withoutAssignments(plan))
      return store.write((tx) => carryOut(tx, plan, numbers))
    },
    simulate: ({ defaultGroups, ...plan }, at) =>
      store.read(async (tx) => plans.simulate(tx, await resolved(tx, plan), at, defaultGroups)),
  }
}

const withoutAssignments = ({ assignments: _, ...plan }: NamedPlan): QuotaPlan => plan

const resolved = async (tx: ReadTransaction, plan: NamedPlan): Promise<QuotaPlan> => {
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

const named = async (tx: ReadTransaction, differences: Differences): Promise<NamedDifferences> => {
  const owners = await accounts.getMany(
    tx,
    differences.assignments.map(({ key }) => [key]),
  )
  return {
    ...differences,
    assignments: differences.assignments.map((one, at) => ({
      ...one,
      key: owners[at]?.name ?? `#${one.key}`,
    })),
  }
}
