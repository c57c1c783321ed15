import { presentHistory, presentStatus, type QuotaInfo } from './api/quota/schema.ts'
import type { Actor } from './audit.ts'
import { checkArgument, checkOptionNames, checkString, existing, isObject } from './errors.ts'
import type { QuotaExplanation } from './quota/evaluate.ts'
import type { Groups } from './quota/groups.ts'
import type { QuotaEngine } from './quota/index.ts'
import type { Owner, OwnerDirectory } from './quota/owners.ts'
import type { NamedDifferences, NamedPlan, PlansByName } from './quota/plans-by-name.ts'
import type { OwnerOverQuota } from './quota/reports.ts'
import { checkNames, checkSubject } from './quota/rule-checks.ts'
import type { Rules } from './quota/rules.ts'
import type { ChangedOwner } from './quota/simulation.ts'
import type { Subject } from './quota/subjects.ts'
import { checkSlice, type Page, type Slice } from './records/pages.ts'
import type { Store, WriteContext } from './records/store.ts'

/**
 * The quota engine for hosts that run Allot in their own process, as `allot.quota`. An owner is the name of a
 * user or of an organization; sizes are bytes. Calls are not authorized: the host decides who may make them.
 * A change is in the audit log when the host passes `by`, who makes it.
 *
 * With `createAllot`, methods that take one owner throw AllotError `not_found` when there is no account of
 * that name. With `createQuota` every name is an owner.
 *
 * @example
 * await allot.quota.rules.create({ name: 'small', limit: '1 GiB', subjects: ['size:all'] })
 * await allot.quota.groups.create({ name: 'free', rules: ['small'] })
 * await allot.quota.groups.assign('team', 'free')
 * await allot.quota.isOver('team', 'size:all')
 */
export interface HostQuota {
  /** Rules: a limit in bytes, or as text such as `2 GiB` (-1 is unlimited), for a set of subjects. */
  readonly rules: Pick<Rules, 'list' | 'get' | 'create' | 'edit' | 'remove'>
  /** Groups of rules, and which owners they are assigned to. */
  readonly groups: Pick<Groups, 'list' | 'get' | 'create' | 'remove' | 'addRule' | 'removeRule'> & {
    /**
     * Assigns a group to an owner.
     * @throws AllotError not_found for an unknown owner or group; conflict when the group is assigned already
     */
    assign(owner: string, group: string, by?: Actor): Promise<void>
    /**
     * Takes a group from an owner.
     * @throws AllotError not_found when the owner or the group is unknown, or the group is not assigned
     */
    unassign(owner: string, group: string, by?: Actor): Promise<void>
    /**
     * Replaces the groups of an owner.
     * @throws AllotError invalid for an unknown or repeated group
     */
    setFor(owner: string, groups: readonly string[], by?: Actor): Promise<void>
    /** Names of the groups that are assigned to an owner. */
    assignedTo(owner: string): Promise<string[]>
  }
  /** Usage and groups of an owner: the body of `GET /user/quota`, with the names of groups and rules. */
  info(owner: string): Promise<QuotaInfo>
  /**
   * Whether an owner is over quota for a subject.
   * @throws AllotError invalid for an unknown subject
   */
  isOver(owner: string, subject: Subject): Promise<boolean>
  /**
   * Why an owner is, or is not, over quota for a subject: the binding rule and its limit, and the usage by
   * each group and rule. Without a subject, for the one with the fewest bytes left.
   * @throws AllotError invalid for an unknown subject
   */
  explain(owner: string, subject?: Subject): Promise<QuotaExplanation>
  /**
   * Usage of an owner at the end of each day (UTC) on which it changed, for up to 400 days. Oldest first; the
   * last entry is the present usage, of whatever day: the body of `GET /user/quota/history`.
   * @throws AllotError invalid for another number of days
   */
  history(owner: string, options?: HistoryOptions): Promise<DailyUsage[]>
  /**
   * Owners that are over quota, for any subject or for one, largest excess first: `GET /admin/quota/over`. It
   * reads every owner.
   * @throws AllotError invalid for an unknown subject, a share that is not from 0 to 1, and a wrong slice
   */
  over(slice: Slice, query?: OverQuery): Promise<Page<OverOwner>>
  /**
   * Owners who would be over quota if rules, groups and assignments were as planned, and are not now, or the
   * other way round: `POST /admin/quota/simulate`. Stores nothing, and reads every owner.
   * @throws AllotError invalid for what `apply` refuses, for an unknown default group, and for a wrong slice
   */
  simulate(plan: NamedPlan & SimulatedDefaults, slice: Slice): Promise<Page<SimulatedOwner>>
  /**
   * Applies a plan of rules, groups and assignments in one transaction. Applying it again changes nothing.
   * @returns the differences between the stored state and the plan
   * @throws AllotError invalid for an unknown or repeated owner, rule or group, and for a member that is
   * wrong
   */
  apply(plan: NamedPlan, options?: ApplyOptions): Promise<NamedDifferences>
}

interface OverQuery {
  /** Any subject when absent. */
  subject?: Subject | undefined
  /** Also finds owners with no more than this share of the limit left: 0 to 1. */
  within?: number | undefined
}

/** An owner that is over a limit, or near it, with the subject and the rule that bind. */
export interface OverOwner extends Omit<OwnerOverQuota, 'owner'> {
  /** Name of the owner. */
  owner: string
}

interface SimulatedDefaults {
  /** Names of default groups in place of the configured ones. */
  defaultGroups?: readonly string[] | undefined
}

/** An owner for whom a plan changes an answer. */
export interface SimulatedOwner {
  /** Name of the owner. */
  owner: string
  /** The answers that change, by subject. */
  answers: ChangedOwner['answers']
}

interface HistoryOptions {
  /** How many days to look back, 1 to 400; 400 when absent. */
  days?: number
}

interface ApplyOptions {
  /** Who applies the plan: the audit log has its changes then. */
  by?: Actor
  /** Whether to return what the plan would change, and change nothing. */
  dryRun?: boolean
}

/** Usage at the end of one day, in bytes. */
export interface DailyUsage {
  /** Day in UTC, such as `2026-11-21`. */
  date: string
  /** Usage of `size:all`. */
  all: number
  /** Usage by category, as `GET /user/quota` has it. */
  size: QuotaInfo['used']['size']
}

interface HostQuotaServices {
  readonly store: Store
  readonly quota: QuotaEngine
  readonly owners: OwnerDirectory
  readonly plans: PlansByName
}

/** @throws AllotError invalid, also for the index that `list.map(rules.create)` passes */
const actor = (by: Actor | undefined): Actor | undefined => {
  const isAccount = isObject(by) && Number.isSafeInteger(by.id) && typeof by.username === 'string'
  checkArgument(by === undefined || isAccount, 'by', "an account, such as { id: 1, username: 'root' }", by)
  return by
}

const RULE_MEMBERS = ['limit', 'subjects']
const PLAN_MEMBERS = ['rules', 'groups', 'assignments', 'prune']

/** @throws AllotError invalid that names another member: it was misspelled, or belongs to another argument */
const onlyWith = <T>(members: readonly string[], given: T): T => {
  if (isObject(given)) checkOptionNames(given, members, 'options follow as another argument')
  return given
}

export const createHostQuota = (services: HostQuotaServices): HostQuota => {
  const { store, quota, owners, plans } = services
  const found = (name: string, owner: Owner | undefined): Owner =>
    existing(owner, `there is no ${owners.title} named ${name}`)
  const idOf = async (name: string): Promise<number> =>
    found(name, await store.read((tx) => owners.find(tx, checkString('owner', name)))).id
  // Looked up within the transaction of the change, so that a deleted owner gets no groups.
  const find = (name: string) => async (tx: WriteContext) =>
    found(name, await owners.find(tx, checkString('owner', name)))
  // With createQuota, the first change about an owner creates it.
  const claim = (name: string) => async (tx: WriteContext) =>
    found(name, await owners.claim(tx, checkString('owner', name)))
  const { rules, groups } = quota
  return {
    rules: {
      list: async (slice) => rules.list(checkSlice(slice)),
      get: async (name) => rules.get(checkString('name', name)),
      create: async (rule, by) => rules.create(onlyWith(['name', ...RULE_MEMBERS], rule), actor(by)),
      edit: async (name, edit, by) =>
        rules.edit(checkString('name', name), onlyWith(RULE_MEMBERS, edit), actor(by)),
      remove: async (name, by) => rules.remove(checkString('name', name), actor(by)),
    },
    groups: groupsByName(groups, { find, claim, idOf }),
    info: async (owner) => presentStatus(await quota.statuses.of(await idOf(owner)), true),
    isOver: async (owner, subject) => quota.isOver(await idOf(owner), checkSubject(subject)),
    explain: async (owner, subject) =>
      quota.explain(await idOf(owner), subject === undefined ? undefined : checkSubject(subject)),
    history: async (owner, options = {}) => {
      checkArgument(isObject(options), 'options', 'an object, such as { days: 30 }', options)
      return presentHistory(await quota.history(await idOf(owner), options.days))
    },
    ...reportsByName(services),
    apply: async (plan, options = {}) => {
      checkArgument(isObject(options), 'options', 'an object, such as { dryRun: true }', options)
      const { dryRun = false, by } = onlyWith(['dryRun', 'by'], options)
      checkArgument(typeof dryRun === 'boolean', 'dryRun', 'true or false', dryRun)
      return plans.apply(onlyWith(PLAN_MEMBERS, plan), { dryRun, by: actor(by) })
    },
  }
}

interface OwnersByName {
  /** Finds an owner within the transaction of a change. */
  find(name: string): (tx: WriteContext) => Promise<Owner>
  /** The same; creates it where owners are names of the host. */
  claim(name: string): (tx: WriteContext) => Promise<Owner>
  idOf(name: string): Promise<number>
}

const groupsByName = (
  groups: QuotaEngine['groups'],
  { find, claim, idOf }: OwnersByName,
): HostQuota['groups'] => ({
  list: async (slice) => groups.list(checkSlice(slice)),
  get: async (name) => groups.get(checkString('name', name)),
  create: async (group, by) => groups.create(onlyWith(['name', 'rules'], group), actor(by)),
  remove: async (name, by) => groups.remove(checkString('name', name), actor(by)),
  addRule: async (group, rule, by) =>
    groups.addRule(checkString('group', group), checkString('rule', rule), actor(by)),
  removeRule: async (group, rule, by) =>
    groups.removeRule(checkString('group', group), checkString('rule', rule), actor(by)),
  assign: async (owner, group, by) => groups.assign(claim(owner), checkString('group', group), actor(by)),
  unassign: async (owner, group, by) => groups.unassign(find(owner), checkString('group', group), actor(by)),
  setFor: async (owner, names, by) => groups.setFor(claim(owner), names, actor(by)),
  assignedTo: async (owner) => groups.assignedTo(await idOf(owner)),
})

const reportsByName = ({
  store,
  quota,
  owners,
  plans,
}: HostQuotaServices): Pick<HostQuota, 'over' | 'simulate'> => {
  /** With names of owners; without those that were deleted meanwhile. */
  const named = async <T extends { owner: number }>({ items, total }: Page<T>) => {
    const ids = items.map(({ owner }) => owner)
    const found = await store.read((tx) => owners.byIds(tx, ids))
    const known = items.filter(({ owner }) => found.has(owner))
    return { items: known.map((item) => ({ ...item, owner: found.get(item.owner)!.name })), total }
  }
  return {
    over: async (slice, query = {}) => {
      checkArgument(isObject(query), 'query', 'an object, such as { within: 0.2 }', query)
      const { subject, within = 0 } = query
      const isShare = typeof within === 'number' && within >= 0 && within <= 1
      checkArgument(isShare, 'within', 'a share from 0 to 1', within)
      const asked = { subject: subject === undefined ? undefined : checkSubject(subject), within }
      return named(await quota.reports.overQuota(asked, checkSlice(slice)))
    },
    simulate: async (plan, slice) => {
      checkArgument(isObject(plan), 'plan', 'an object with rules, groups and assignments', plan)
      const { defaultGroups } = plan
      if (defaultGroups !== undefined) checkNames('defaultGroups', defaultGroups)
      return named(await plans.simulate(plan, checkSlice(slice)))
    },
  }
}
