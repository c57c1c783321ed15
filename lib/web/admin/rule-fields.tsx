/** @jsxRuntime automatic @jsxImportSource preact */
/** The fields of a rule: its limit, and its subjects in the groups in which they contain each other. */
import { type Subject, withAncestors } from '../../quota/subjects.ts'
import { invalidAttributes, SubjectCode } from '../components.tsx'
import { subjectGroups, subjectTexts } from '../subject-names.ts'

/** The fields of a rule, as text. */
export interface RuleFormValues {
  readonly name: string
  readonly limit: string
  readonly subjects: readonly string[]
}

interface LimitAndSubjectsProps {
  values: RuleFormValues
  failure: string | undefined
}

export const LimitAndSubjects = ({ values, failure }: LimitAndSubjectsProps) => (
  <>
    <label for="limit">Limit</label>
    <input
      id="limit"
      name="limit"
      value={values.limit}
      required
      {...invalidAttributes('limit', failure, 'limit-hint')}
    />
    <p class="hint" id="limit-hint">
      A size such as 2 GiB, a number of bytes, or “unlimited”.
    </p>
    <fieldset class="options" aria-describedby="subjects-hint">
      <legend>Subjects</legend>
      <p class="hint" id="subjects-hint">
        The limit is for the sum of all chosen subjects. A subject includes those that are indented below it.
      </p>
      <div class="option-columns">
        {subjectGroups.map(({ name, subjects }) => (
          <fieldset key={name}>
            <legend>{name}</legend>
            {subjects.map((subject) => (
              <SubjectBox
                key={subject}
                subject={subject}
                depth={withAncestors(subject).length - withAncestors(subjects[0]!).length}
                isChecked={values.subjects.includes(subject)}
              />
            ))}
          </fieldset>
        ))}
      </div>
    </fieldset>
  </>
)

/** @param depth how many subjects of the group include this one */
const SubjectBox = ({
  subject,
  depth,
  isChecked,
}: {
  subject: Subject
  depth: number
  isChecked: boolean
}) => (
  <label class={depth > 0 ? `box deep${depth}` : 'box'}>
    <input type="checkbox" name="subject" value={subject} checked={isChecked} />
    <span>
      {subjectTexts[subject].name} <SubjectCode subject={subject} />{' '}
      <span class="small about">{subjectTexts[subject].about}</span>
    </span>
  </label>
)
