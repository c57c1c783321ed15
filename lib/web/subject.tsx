/** @jsxRuntime automatic @jsxImportSource preact */
import type { Subject } from '../quota/subjects.ts'

/** On a narrow screen it is broken between its words. */
export const SubjectCode = ({ subject }: { subject: Subject }) => (
  <code>
    {subject.split(/(?<=:)/).map((word) => (
      <>
        {word}
        <wbr />
      </>
    ))}
  </code>
)
