import { type Actor, recordAudit, recordDifference } from '../audit.ts'
import { bytesFault, parseSize } from '../byte-sizes.ts'
import {
  AllotError,
  checkArgument,
  checkPathName,
  checkString,
  describeName,
  invalid,
  invalidMember,
  isObject,
} from '../errors.ts'
import { definedMembers } from '../records/edits.ts'
import type { Page, Slice } from '../records/pages.ts'
import { groups, type Rule, rules } from '../records/schema/index.ts'
import { type Store, takeNumber, uniqueTime, type WriteContext } from '../records/store.ts'
import type { WriteTransaction } from '../storage/index.ts'
import type { QuotaRule } from './evaluate.ts'
import { subjects as allSubjects, isSubject, type Subject } from './subjects.ts'

/** A rule as a host writes it. */
export interface GivenRule extends Omit<QuotaRule, 'limit'> {
  /** Bytes, or a size such as `2 GiB`; -1 is unlimited. */
  readonly limit: number | string
}

interface RuleEdit {
  /** Bytes, or a size such as `2 GiB`; -1 is unlimited. */
  limit?: number | string | undefined
  /** The subjects whose sum the rule measures. */
  subjects?: readonly Subject[] | undefined
}

/** Quota rules. Names are case-sensitive; lists are in the order of creation. */
export class Rules {
  readonly #store: Store
  readonly #onChange: () => void

  /** @param onChange called after a durable change, which can concern every owner */
  constructor(store: Store, onChange: () => void) {
    this.#store = store
    this.#onChange = onChange
  }

  /** Rules, in the order of creation. */
  async list(slice: Slice): Promise<Page<QuotaRule>> {
    const page = await this.#store.read((tx) => rules.page(tx, 'sequence', { prefix: [], ...slice }, 'all'))
    return { ...page, items: page.items.map(toRule) }
  }

  /** The rule with the name; undefined when there is none. */
  async get(name: string): Promise<QuotaRule | undefined> {
    const rule = await this.#store.read((tx) => rules.get(tx, [name]))
    return rule && toRule(rule)
  }

  /**
   * The number of the rule, which a later rule of the same name does not have; undefined when there is none.
   */
  async numberOf(name: string): Promise<number | undefined> {
    return (await this.#store.read((tx) => rules.get(tx, [name])))?.sequence
  }

  /**
   * Creates a rule.
   * @throws AllotError invalid for an unknown subject; conflict when a rule of the name exists
   */
  async create(rule: GivenRule, by?: Actor): Promise<QuotaRule> {
    checkWholeRule(rule)
    const created = toRule(rule)
    const { name } = created
    return this.#store.write(async (tx) => {
      if ((await rules.get(tx, [name])) !== undefined)
        throw new AllotError('conflict', `a rule named ${name} already exists`, { field: 'name' })
      await insertRule(tx, created, by)
      tx.afterCommit(this.#onChange)
      return created
    })
  }

  /**
   * Changes the members that are given.
   * @returns undefined when the rule does not exist
   */
  async edit(name: string, edit: RuleEdit, by?: Actor): Promise<QuotaRule | undefined> {
    checkArgument(isObject(edit), 'edit', 'an object with limit or subjects', edit)
    if (edit.limit !== undefined) bytesOf(edit.limit)
    checkSubjects(edit.subjects)
    return this.#store.write(async (tx) => {
      const before = await rules.get(tx, [name])
      if (before === undefined) return undefined
      const after = membersOf({ ...before, ...definedMembers(edit) })
      await rules.save(tx, { ...before, ...after })
      const change = { before: membersOf(before), after }
      await recordDifference(tx, by, { action: 'rule changed', subject: name, ...change })
      tx.afterCommit(this.#onChange)
      return { name, ...after }
    })
  }

  /**
   * Removes the rule from the store and from every group.
   * @returns whether it existed
   */
  remove(name: string, by?: Actor): Promise<boolean> {
    return this.#store.write(async (tx) => {
      const before = await rules.remove(tx, [name])
      if (before === undefined) return false
      await recordAudit(tx, by, { action: 'rule deleted', subject: name, before: membersOf(before) })
      await leaveGroups(tx, name, by)
      tx.afterCommit(this.#onChange)
      return true
    })
  }
}

/** Saves a rule whose name is free. */
export const insertRule = async (tx: WriteContext, rule: GivenRule, by: Actor | undefined): Promise<void> => {
  const { name } = rule
  const members = membersOf(rule)
  await rules.save(tx, { name, ...members, ...(await creationOf(tx, 'rule')) })
  await recordAudit(tx, by, { action: 'rule created', subject: name, after: members })
}

/** Removes a deleted rule from its groups. A scan is enough, because instances have few groups. */
const leaveGroups = async (tx: WriteContext, name: string, by: Actor | undefined) => {
  for await (const group of groups.all(tx)) {
    if (!group.rules.includes(name)) continue
    const left = group.rules.filter((other) => other !== name)
    await groups.save(tx, { ...group, rules: left })
    await recordAudit(tx, by, {
      action: 'group changed',
      subject: group.name,
      before: { rules: group.rules },
      after: { rules: left },
    })
  }
}

type Creation = Pick<Rule, 'sequence' | 'created'>

/** The number and the time that a rule or a group keeps from its creation, in the write that creates it. */
export const creationOf = async (tx: WriteTransaction, kind: 'rule' | 'group'): Promise<Creation> => ({
  sequence: await takeNumber(tx, kind),
  created: uniqueTime(),
})

/** What a rule has besides its name and its creation. */
type RuleMembers = Omit<Rule, 'name' | keyof Creation> & { readonly subjects: Subject[] }

/** The members that every rule has, and no others: they are stored, compared and logged. */
export const membersOf = ({ limit, subjects }: Pick<GivenRule, 'limit'> & Subjects): RuleMembers => ({
  limit: bytesOf(limit),
  subjects: [...subjects] as Subject[],
})
type Subjects = { readonly subjects: readonly string[] }

/** The members of a rule in one order, so that equal rules are equal as JSON. */
export const toRule = (rule: Pick<GivenRule, 'name' | 'limit'> & Subjects): QuotaRule => ({
  name: rule.name,
  ...membersOf(rule),
})

/** Bounds the cost of an evaluation, since a rule can list a subject more than once. */
export const MAX_SUBJECTS = 100

/** A rule that a host passes in process, where no wire schema has checked it. */
interface UncheckedRule {
  readonly name: string
  readonly limit?: number | string | undefined
  readonly subjects?: readonly string[] | undefined
}

/** @throws AllotError invalid, with the name of the member that is wrong */
export const checkRule = (rule: UncheckedRule): void => {
  checkArgument(isObject(rule), 'rule', 'an object with name, limit and subjects', rule)
  checkPathName(rule.name)
  if (rule.limit !== undefined) bytesOf(rule.limit)
  checkSubjects(rule.subjects)
}

/**
 * Checks a rule whose members must all be there.
 * @throws AllotError invalid, with the name of the member that is wrong
 */
export const checkWholeRule = (rule: UncheckedRule): void => {
  checkRule(rule)
  if (rule.limit === undefined) throw new AllotError('invalid', 'Limit is required', { field: 'limit' })
  checkArgument(rule.subjects !== undefined, 'subjects', "a list, such as ['size:all']", rule.subjects)
}

export const withoutLimit = (name: string) =>
  invalid(`there is no rule named ${name}: give a limit to create it`)

/** @throws AllotError invalid unless it is a list of strings, none of them twice */
export const checkNames = (member: string, names: readonly string[]): void => {
  checkArgument(Array.isArray(names), member, 'a list', names)
  for (const [index, name] of names.entries()) checkString(`${member}[${index}]`, name)
  const seen = new Set<string>()
  const repeated = names.find((name) => seen.size === seen.add(name).size)
  if (repeated !== undefined) throw invalidMember(member, `${repeated} is named twice`)
}

/** @throws AllotError invalid unless the limit is whole bytes, or a size such as `2 GiB` */
const bytesOf = (limit: number | string): number => {
  const bytes = typeof limit === 'string' ? parseSize(limit) : limit
  if (bytes === undefined || !Number.isSafeInteger(bytes)) throw invalidMember('limit', bytesFault(limit))
  return bytes
}

export const checkSubjects = (subjects: readonly string[] | undefined): void => {
  if (subjects === undefined) return
  if (!Array.isArray(subjects) || subjects.length > MAX_SUBJECTS)
    throw invalidMember('subjects', `expected a list of at most ${MAX_SUBJECTS}`)
  for (const [index, subject] of subjects.entries()) checkSubject(subject, `subjects[${index}]`)
}

export const checkSubject = (subject: string, member = 'subject'): Subject => {
  if (isSubject(subject)) return subject
  throw invalidMember(
    member,
    `unknown subject ${describeName(subject)}; expected one of: ${allSubjects.join(', ')}`,
  )
}
