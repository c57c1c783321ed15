import { invalid } from '../errors.ts'
import { isSubject, type Subject } from './subjects.ts'

/** Each is measured whenever its rule is judged, and a subject may be listed more than once. */
export const MOST_SUBJECTS = 100
/** As many characters as a key of the store has room for, whatever they are. */
const LONGEST_NAME = 255

/** What a host hands over in process, where no schema has looked at it. */
interface GivenRule {
  readonly name: string
  readonly limit?: number | undefined
  readonly subjects?: readonly string[] | undefined
}

/** @throws AllotError invalid, naming the member. */
export const checkRule = ({ name, limit, subjects }: GivenRule): void => {
  checkName(name)
  checkLimit(limit)
  checkSubjects(subjects)
}

export const checkName = (name: string): void => {
  if (typeof name !== 'string' || name === '' || name.length > LONGEST_NAME || !name.isWellFormed())
    throw invalid(`name: must have 1 to ${LONGEST_NAME} characters`)
}

export const checkLimit = (limit: number | undefined): void => {
  if (limit !== undefined && !Number.isSafeInteger(limit))
    throw invalid('limit: expected whole bytes, between -(2^53-1) and 2^53-1')
}

export const checkSubjects = (subjects: readonly string[] | undefined): void => {
  if (subjects === undefined) return
  if (!Array.isArray(subjects) || subjects.length > MOST_SUBJECTS)
    throw invalid(`subjects: expected a list of at most ${MOST_SUBJECTS}`)
  for (const [at, subject] of subjects.entries()) checkSubject(subject, `subjects[${at}]`)
}

export const checkSubject = (subject: string, member = 'subject'): Subject => {
  if (isSubject(subject)) return subject
  throw invalid(`${member}: ${JSON.stringify(subject)} is no subject`)
}
