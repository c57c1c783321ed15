import { AllotError } from './errors.ts'
import type { Hosting } from './hosting/index.ts'
import type { NamedDifferences, NamedPlan } from './hosting/plans.ts'
import type { Crossing } from './quota/crossings.ts'
import type { QuotaExplanation } from './quota/explain.ts'
import type { Groups } from './quota/groups.ts'
import type { QuotaEngine } from './quota/index.ts'
import type { Rules } from './quota/rules.ts'
import type { Subject } from './quota/subjects.ts'
import { type QuotaInfo, quotaResource } from './resources/quota.ts'

/** The engine as a host has it in process: owners by their names. Every call throws `not_found` for an unknown one. */
export interface HostQuota {
  readonly rules: Rules
  readonly groups: Pick<Groups, 'list' | 'get' | 'create' | 'remove' | 'addRule' | 'removeRule'> & {
    assign(owner: string, group: string): Promise<void>
    unassign(owner: string, group: string): Promise<void>
    /** Sets the whole list. */
    setFor(owner: string, groups: readonly string[]): Promise<void>
    assignedTo(owner: string): Promise<string[]>
  }
  /** What `GET /user/quota` answers, with the names of groups and rules. */
  info(owner: string): Promise<QuotaInfo>
  /** Whether the owner is over quota for the subject. */
  isOver(owner: string, subject: Subject): Promise<boolean>
  explain(owner: string, subject: Subject): Promise<QuotaExplanation>
  /**
   * Makes rules, groups and assignments as the plan says, all or nothing, and answers what that changed.
   * @throws AllotError invalid for an owner, a rule or a group that is not there, or is named twice.
   */
  apply(plan: NamedPlan, options?: { dryRun?: boolean }): Promise<NamedDifferences>
}

/** What `allot.on('quota', …)` tells: an owner's usage passed a rule's limit, or the share of it that is near. */
export interface QuotaEvent extends Omit<Crossing, 'owner'> {
  /** The name of the user or the organization. */
  owner: string
}

export const createHostQuota = (quota: QuotaEngine, hosting: Hosting): HostQuota => {
  const idOf = async (owner: string): Promise<number> => {
    const account = await hosting.accounts.byName(owner)
    if (account === undefined) throw new AllotError('not_found', `there is no account named ${owner}`)
    return account.id
  }
  const { groups } = quota
  return {
    rules: quota.rules,
    groups: {
      list: groups.list,
      get: groups.get,
      create: groups.create,
      remove: groups.remove,
      addRule: groups.addRule,
      removeRule: groups.removeRule,
      assign: async (owner, group) => groups.assign(await idOf(owner), group),
      unassign: async (owner, group) => groups.unassign(await idOf(owner), group),
      setFor: async (owner, names) => groups.setFor(await idOf(owner), names),
      assignedTo: async (owner) => groups.assignedTo(await idOf(owner)),
    },
    info: async (owner) => quotaResource(await quota.standing(await idOf(owner)), true),
    isOver: async (owner, subject) => quota.isOver(await idOf(owner), subject),
    explain: async (owner, subject) => quota.explain(await idOf(owner), subject),
    apply: hosting.plans.apply,
  }
}
