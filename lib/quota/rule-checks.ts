/** The members of rules, and the checks of what a host passes in process. */
import { bytesFault, parseSize } from '../byte-sizes.ts'
import {
  AllotError,
  checkArgument,
  checkPathName,
  checkString,
  describeName,
  invalidMember,
  isObject,
} from '../errors.ts'
import type { Rule } from '../records/schema/index.ts'
import type { QuotaRule } from './evaluate.ts'
import { subjects as allSubjects, isSubject, type Subject } from './subjects.ts'

/** A rule as a host writes it. */
export interface GivenRule extends Omit<QuotaRule, 'limit'> {
  /** Bytes, or a size such as `2 GiB`; -1 is unlimited. */
  readonly limit: number | string
}

/** What a rule has besides its name and its creation. */
type RuleMembers = Omit<Rule, 'name' | 'sequence' | 'created'> & { readonly subjects: Subject[] }

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

/** @throws AllotError invalid unless it is a list of strings, none of them twice */
export const checkNames = (member: string, names: readonly string[]): void => {
  checkArgument(Array.isArray(names), member, 'a list', names)
  for (const [index, name] of names.entries()) checkString(`${member}[${index}]`, name)
  const seen = new Set<string>()
  const repeated = names.find((name) => seen.size === seen.add(name).size)
  if (repeated !== undefined) throw invalidMember(member, `${repeated} is named twice`)
}

/** @throws AllotError invalid unless the limit is whole bytes, or a size such as `2 GiB` */
export const bytesOf = (limit: number | string): number => {
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
