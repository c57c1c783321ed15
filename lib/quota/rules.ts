import { AllotError, invalid } from '../errors.ts'
import { groups, type Rule, rules } from '../records/schema/index.ts'
import type { Store, WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/driver.ts'
import type { QuotaRule } from './evaluate.ts'
import { isSubject, type Subject } from './subjects.ts'

/** Quota rules as an administrator keeps them. Names are compared exactly, and listed in the order they were made. */
export interface Rules {
  list(at: { offset: number; limit: number }): Promise<{ items: QuotaRule[]; total: number }>
  get(name: string): Promise<QuotaRule | undefined>
  /** @throws AllotError invalid for an unknown subject; conflict: "POST with a rule name that already exists returns 409" */
  create(rule: QuotaRule): Promise<QuotaRule>
  /** "An omitted member leaves that attribute unchanged." Undefined when there is no such rule. */
  edit(name: string, edit: RuleEdit): Promise<QuotaRule | undefined>
  /** Removes the rule, also from every group that has it; answers whether there was one. */
  remove(name: string): Promise<boolean>
}

export interface RuleEdit {
  limit?: number | undefined
  subjects?: readonly Subject[] | undefined
}

/** @param changed called after a change is durable: it may concern every owner. */
export const createRules = (store: Store, changed: () => void): Rules => ({
  list: (at) =>
    store.read(async (tx) => ({
      items: (await rules.list(tx, 'sequence', { prefix: [], ...at })).map(toRule),
      total: await rules.count(tx, 'all', []),
    })),
  get: (name) => store.read((tx) => readRule(tx, name)),
  async create(rule) {
    checkRule(rule)
    if (rule.limit === undefined) throw invalid('Limit is required')
    const sequence = await store.sequences.next('rule')
    return store.write((tx) => createRule(tx, rule, sequence, changed))
  },
  async edit(name, edit) {
    checkLimit(edit.limit)
    checkSubjects(edit.subjects)
    return store.write(async (tx) => {
      const before = await rules.get(tx, [name])
      if (before === undefined) return undefined
      const after = {
        ...before,
        limit: edit.limit ?? before.limit,
        subjects: [...(edit.subjects ?? before.subjects)],
      }
      await rules.save(tx, after)
      tx.afterCommit(changed)
      return toRule(after)
    })
  },
  remove: (name) =>
    store.write(async (tx) => {
      if ((await rules.remove(tx, [name])) === undefined) return false
      await leaveGroups(tx, name)
      tx.afterCommit(changed)
      return true
    }),
})

const createRule = async (tx: WriteContext, rule: QuotaRule, sequence: number, changed: () => void) => {
  if ((await rules.get(tx, [rule.name])) !== undefined)
    throw new AllotError('conflict', `a rule named ${rule.name} already exists`)
  const record: Rule = { name: rule.name, limit: rule.limit, subjects: [...rule.subjects], sequence }
  await rules.save(tx, record)
  tx.afterCommit(changed)
  return toRule(record)
}

const readRule = async (tx: ReadTransaction, name: string): Promise<QuotaRule | undefined> => {
  const rule = await rules.get(tx, [name])
  return rule && toRule(rule)
}

/** "A rule that is deleted leaves its groups." There are few groups, so each is looked at. */
const leaveGroups = async (tx: WriteContext, name: string) => {
  for await (const group of groups.all(tx)) {
    if (!group.rules.includes(name)) continue
    await groups.save(tx, { ...group, rules: group.rules.filter((other) => other !== name) })
  }
}

export const toRule = (rule: Rule): QuotaRule => ({
  name: rule.name,
  limit: rule.limit,
  subjects: rule.subjects as Subject[],
})

/** Each is measured whenever its rule is judged, and a subject may be listed more than once. */
export const MAX_SUBJECTS = 100
/** Two such names fit into a key of the store, whatever their characters. */
const LONGEST_NAME = 255

/** What a host hands over in process, where no schema has looked at it. */
interface UncheckedRule {
  readonly name: string
  readonly limit?: number | undefined
  readonly subjects?: readonly string[] | undefined
}

/** @throws AllotError invalid, naming the member. */
export const checkRule = ({ name, limit, subjects }: UncheckedRule): void => {
  checkName(name)
  checkLimit(limit)
  checkSubjects(subjects)
}

export const checkName = (name: string, member = 'name'): void => {
  if (typeof name !== 'string' || name === '' || name.length > LONGEST_NAME || !name.isWellFormed())
    throw invalid(`${member}: must have 1 to ${LONGEST_NAME} characters`)
  refuseControls(name, member)
}

/** Names of rules, groups, tokens and ledger keys are shown to people and written into files of lines. */
export const refuseControls = (text: string, member: string): void => {
  if (/\p{Cc}/u.test(text)) throw invalid(`${member}: must not have control characters`)
}

export const checkLimit = (limit: number | undefined): void => {
  if (limit !== undefined && !Number.isSafeInteger(limit))
    throw invalid('limit: expected whole bytes, between -(2^53-1) and 2^53-1')
}

export const checkSubjects = (subjects: readonly string[] | undefined): void => {
  if (subjects === undefined) return
  if (!Array.isArray(subjects) || subjects.length > MAX_SUBJECTS)
    throw invalid(`subjects: expected a list of at most ${MAX_SUBJECTS}`)
  for (const [at, subject] of subjects.entries()) checkSubject(subject, `subjects[${at}]`)
}

export const checkSubject = (subject: string, member = 'subject'): Subject => {
  if (isSubject(subject)) return subject
  throw invalid(`${member}: ${JSON.stringify(subject)} is no subject`)
}
