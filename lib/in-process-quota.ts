import { accountByName } from './accounts/access.ts'
import { dateOf } from './api/fields.ts'
import { presentStatus, presentUsage, type QuotaInfo } from './api/quota/schema.ts'
import { AllotError } from './errors.ts'
import type { Hosting } from './hosting.ts'
import type { Sum } from './integers.ts'
import type { QuotaExplanation } from './quota/evaluate.ts'
import type { Groups } from './quota/groups.ts'
import type { QuotaEngine } from './quota/index.ts'
import { checkSubject, type Rules } from './quota/rules.ts'
import { type Subject, usedBy } from './quota/subjects.ts'
import type { ThresholdEvent } from './quota/threshold-events.ts'
import type { NamedDifferences, NamedPlan } from './repositories/named-plans.ts'
import type { ReadTransaction } from './storage/index.ts'

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
   * What the owner used at the end of each day (of UTC) on which that changed, the oldest first and now the last; on the
   * days between it was the same. It goes back 400 days.
   */
  history(owner: string): Promise<DailyUsage[]>
  /**
   * Makes rules, groups and assignments as the plan says, all or nothing, and answers what that changed.
   * @throws AllotError invalid for an owner, a rule or a group that is not there, or is named twice.
   */
  apply(plan: NamedPlan, options?: { dryRun?: boolean }): Promise<NamedDifferences>
}

/** Bytes. */
export interface DailyUsage {
  /** Such as `2026-11-21`. */
  date: string
  all: Sum
  size: QuotaInfo['used']['size']
}

/** What `allot.on('quota', …)` tells: an owner's usage passed a rule's limit, or the share of it that is near. */
export interface QuotaEvent extends Omit<ThresholdEvent, 'owner'> {
  /** The name of the user or the organization. */
  owner: string
}

export const createHostQuota = (quota: QuotaEngine, hosting: Hosting): HostQuota => {
  const missing = (owner: string) => new AllotError('not_found', `there is no account named ${owner}`)
  const idOf = async (owner: string): Promise<number> => {
    const account = await hosting.accounts.byName(owner)
    if (account === undefined) throw missing(owner)
    return account.id
  }
  const named = (owner: string) => async (tx: ReadTransaction) => {
    const account = await accountByName(tx, owner)
    if (account === undefined) throw missing(owner)
    return account
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
      assign: (owner, group) => groups.assign(named(owner), group),
      unassign: (owner, group) => groups.unassign(named(owner), group),
      setFor: (owner, names) => groups.setFor(named(owner), names),
      assignedTo: async (owner) => groups.assignedTo(await idOf(owner)),
    },
    info: async (owner) => presentStatus(await quota.status(await idOf(owner)), true),
    isOver: async (owner, subject) => quota.isOver(await idOf(owner), checkSubject(subject)),
    explain: async (owner, subject) => quota.explain(await idOf(owner), checkSubject(subject)),
    history: async (owner) =>
      (await quota.history(await idOf(owner))).map((one) => ({
        date: dateOf(one.day),
        all: usedBy('size:all', one),
        size: presentUsage(one),
      })),
    apply: hosting.plans.apply,
  }
}
