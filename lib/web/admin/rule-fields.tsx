/** The fields of a rule: its limit, and its subjects in the groups in which they contain each other. */
import { formatExactLimit } from '../../byte-sizes.ts'
import type { QuotaRule } from '../../quota/evaluate.ts'
import { isSubject, type Subject, withAncestors } from '../../quota/subjects.ts'
import { useEntered } from '../parts/components.tsx'
import { Box, FieldFailure, Hint, useChosen, useInvalid } from '../parts/fields.tsx'
import { labelOf } from '../parts/labels.ts'
import { subjectGroups, subjectsInWords, subjectTexts } from '../parts/subject-names.ts'

/** @param stored the rule that the form edits */
export const LimitAndSubjects = ({ stored }: { stored?: QuotaRule }) => {
  const entered = useEntered()
  const limit = stored === undefined ? '' : formatExactLimit(stored.limit)
  const chosen = useChosen('subject', stored?.subjects ?? ['size:all'])
  const saved = savedSubjects(chosen, stored?.subjects)
  return (
    <>
      <label for="limit">{labelOf('limit')}</label>
      <input
        id="limit"
        name="limit"
        value={entered?.form.text('limit') ?? limit}
        maxLength={50}
        required
        {...useInvalid('limit', 'limit-hint')}
      />
      <Hint field="limit" id="limit-hint">
        Such as 2 GiB, a number of bytes, or “unlimited”.
      </Hint>
      <details class="options" open={entered?.refusal?.field === 'subjects'}>
        <summary>
          {labelOf('subjects')}: <span>{subjectsInWords(saved)}</span>
        </summary>
        <fieldset aria-describedby="subjects-hint">
          <legend class="hidden">{labelOf('subjects')}</legend>
          <FieldFailure field="subjects" />
          <p class="hint" id="subjects-hint">
            The limit is for the sum of all chosen subjects. A subject includes those that are indented below
            it, and Total includes all: what is included counts once.
            <CountedTwice subjects={saved} />
          </p>
          <div class="option-columns" data-subjects="">
            {shownGroups(chosen).map(({ name, subjects }) => (
              <fieldset key={name}>
                <legend>{name}</legend>
                {subjects.map((subject) => (
                  <SubjectBox
                    key={subject}
                    subject={subject}
                    depth={withAncestors(subject).length - withAncestors(subjects[0]!).length}
                    isChecked={withAncestors(subject).some((one) => chosen.includes(one))}
                  />
                ))}
              </fieldset>
            ))}
          </div>
        </fieldset>
      </details>
    </>
  )
}

/** Wikis are not served here, so that nobody need choose them; a rule of another server can have them. */
const shownGroups = (chosen: readonly string[]) =>
  subjectGroups.filter(({ subjects }) => !subjects.includes('size:wiki') || chosen.includes('size:wiki'))

/** Names the subjects that a rule lists twice, or together with one that includes them, as the API allows. */
const CountedTwice = ({ subjects }: { subjects: readonly Subject[] }) => {
  const twice = subjects.filter((subject, index) =>
    subjects.some((other, at) => at !== index && withAncestors(subject).includes(other)),
  )
  if (twice.length === 0) return null
  return <> This rule counts {subjectsInWords([...new Set(twice)])} twice, until a box is changed.</>
}

/**
 * The subjects that the form saves. Boxes cannot show that a rule lists a subject twice, or with one that
 * includes it: keeps such a list while no box changes.
 */
export const savedSubjects = (
  chosen: readonly string[],
  stored: readonly Subject[] = [],
): readonly Subject[] => {
  const subjects = withoutIncluded(chosen)
  return withoutIncluded(stored).sort().join() === subjects.toSorted().join() ? stored : subjects
}

/**
 * Leaves out unknown subjects, repeated ones, and those that another one includes: their boxes are ticked
 * with it.
 */
const withoutIncluded = (chosen: readonly string[]): Subject[] =>
  [...new Set(chosen)].filter(isSubject).filter((subject) => {
    const [, ...including] = withAncestors(subject)
    return !including.some((one) => chosen.includes(one))
  })

/** A subject that narrow screens break after its colons. */
const SubjectCode = ({ subject }: { subject: Subject }) => (
  <code class="id muted">
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
}: {
  subject: Subject
  depth: number
  isChecked: boolean
}) => (
  <Box
    field="subjects"
    name="subject"
    value={subject}
    isChecked={isChecked}
    class={depth > 0 ? `deep${depth}` : undefined}
    data-in={withAncestors(subject).slice(1).join(' ') || undefined}
  >
    <span data-name="">{subjectTexts[subject].name}</span> <SubjectCode subject={subject} />{' '}
    <span class="small about">{subjectTexts[subject].about}</span>
  </Box>
)
