import * as v from 'valibot'
import { invalid } from '../../errors.ts'
import { MAX_SUBJECTS } from '../../quota/rules.ts'
import { Subject, subjects } from '../../quota/subjects.ts'
import type { Services } from '../route.ts'

type Dialect = Services['dialect']

/** Forgejo's name for `size:wiki`. */
const FORGEJO_WIKI = 'size:assets:wiki'

/** A subject as a request names it: one of the document's, or in the dialect of Forgejo also its name for the wiki. */
export const RequestSubject = v.picklist([...subjects, FORGEJO_WIKI])
export type RequestSubject = v.InferOutput<typeof RequestSubject>

export const RequestSubjects = v.pipe(v.array(RequestSubject), v.maxLength(MAX_SUBJECTS))

export const SubjectQuery = v.object({ subject: RequestSubject })

/**
 * @param member where the subject stands in the request, such as `subjects[0]`
 * @throws AllotError invalid for Forgejo's name in the dialect of the document
 */
export const subjectIn = (dialect: Dialect, subject: RequestSubject, member = 'subject'): Subject => {
  if (subject !== FORGEJO_WIKI) return subject
  if (dialect === 'forgejo') return 'size:wiki'
  const expected = Subject.options.join(', ')
  throw invalid(`${member}: expected one of ${expected}, received the string "${FORGEJO_WIKI}"`)
}

export const subjectsIn = (dialect: Dialect, subjects: readonly RequestSubject[]): Subject[] =>
  subjects.map((subject, index) => subjectIn(dialect, subject, `subjects[${index}]`))
