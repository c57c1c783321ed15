import * as v from 'valibot'
import { invalid } from '../../errors.ts'
import { MAX_SUBJECTS } from '../../quota/rules.ts'
import { Subject, subjects } from '../../quota/subjects.ts'
import type { Services } from '../route.ts'

/** What a Forgejo calls `size:wiki`. */
const WIKI = 'size:assets:wiki'

/** A subject as it is asked for: one of the specification's, or in the dialect of a real Forgejo its word for the wiki. */
export const SubjectQuery = v.picklist([...subjects, WIKI])
export type SubjectQuery = v.InferOutput<typeof SubjectQuery>

export const SubjectsQuery = v.pipe(v.array(SubjectQuery), v.maxLength(MAX_SUBJECTS))

/** @param member what to name in the refusal, such as `subjects[0]`. */
export const subjectIn = (dialect: Services['dialect'], asked: SubjectQuery, member: string): Subject => {
  if (asked !== WIKI) return asked
  if (dialect === 'forgejo') return 'size:wiki'
  throw invalid(`${member}: expected one of ${Subject.options.join(', ')}, received the string "${WIKI}"`)
}

export const subjectsIn = (dialect: Services['dialect'], asked: readonly SubjectQuery[]): Subject[] =>
  asked.map((subject, at) => subjectIn(dialect, subject, `subjects[${at}]`))
