/** @jsxRuntime automatic @jsxImportSource preact */
/** The fields of a rule: its limit, and its subjects in the groups in which they contain each other. */
import { isSubject, type Subject, withAncestors } from '../../quota/subjects.ts'
import { FieldFailure, Hint } from '../parts/fields.tsx'
import { invalidAttributes, isRefused, labelOf } from '../parts/labels.ts'
import { subjectGroups, subjectsInWords, subjectTexts } from '../parts/subject-names.ts'

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
    <label for="limit">{labelOf('limit')}</label>
    <input
      id="limit"
      name="limit"
      value={values.limit}
      required
      {...invalidAttributes('limit', failure, 'limit-hint')}
    />
    <Hint field="limit" failure={failure} id="limit-hint">
      Such as 2 GiB, a number of bytes, or “unlimited”.
    </Hint>
    <details class="options" open={isRefused('subjects', failure)}>
      <summary>
        {labelOf('subjects')}: <span>{subjectsInWords(withoutIncluded(values.subjects))}</span>
      </summary>
      <fieldset aria-describedby="subjects-hint">
        <legend class="hidden">{labelOf('subjects')}</legend>
        <FieldFailure field="subjects" failure={failure} />
        <p class="hint" id="subjects-hint">
          The limit is for the sum of all chosen subjects. A subject includes those that are indented below
          it, and Total includes all: what is included counts once.
        </p>
        <div class="option-columns" data-subjects="">
          {shownGroups(values.subjects).map(({ name, subjects }) => (
            <fieldset key={name}>
              <legend>{name}</legend>
              {subjects.map((subject) => (
                <SubjectBox
                  key={subject}
                  subject={subject}
                  failure={failure}
                  depth={withAncestors(subject).length - withAncestors(subjects[0]!).length}
                  isChecked={withAncestors(subject).some((one) => values.subjects.includes(one))}
                />
              ))}
            </fieldset>
          ))}
        </div>
      </fieldset>
    </details>
  </>
)

/** Wikis are not served here, so that nobody need choose them; a rule of another server can have them. */
const shownGroups = (chosen: readonly string[]) =>
  subjectGroups.filter(({ subjects }) => !subjects.includes('size:wiki') || chosen.includes('size:wiki'))

/** Leaves out unknown subjects, repeated ones, and those that another one includes: their boxes are ticked with it. */
export const withoutIncluded = (chosen: readonly string[]): Subject[] =>
  [...new Set(chosen)].filter(isSubject).filter((subject) => {
    const [, ...including] = withAncestors(subject)
    return !including.some((one) => chosen.includes(one))
  })

/** A subject that narrow screens break after its colons. */
const SubjectCode = ({ subject }: { subject: Subject }) => (
  <code>
    {subject.split(/(?<=:)/).map((word) => (
      <>
        {word}
        <wbr />
      </>
    ))}
  </code>
)

/** @param depth how many subjects of the group include this one */
const SubjectBox = ({
  subject,
  depth,
  isChecked,
  failure,
}: {
  subject: Subject
  depth: number
  isChecked: boolean
  failure: string | undefined
}) => (
  <label class={depth > 0 ? `box deep${depth}` : 'box'}>
    <input
      type="checkbox"
      name="subject"
      value={subject}
      checked={isChecked}
      data-in={withAncestors(subject).slice(1).join(' ') || undefined}
      {...invalidAttributes('subjects', failure)}
    />
    <span>
      <span data-name="">{subjectTexts[subject].name}</span> <SubjectCode subject={subject} />{' '}
      <span class="small about">{subjectTexts[subject].about}</span>
    </span>
  </label>
)
