import { invalid } from '../errors.ts'
import { isSubject, type Subject } from './subjects.ts'

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
