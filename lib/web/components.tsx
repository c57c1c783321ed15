import type { Subject } from '../quota/subjects.ts'
import { SIMULATE } from './admin-action.ts'
import { Notice } from './document.tsx'
import { sentence } from './sign-in.tsx'

/** @jsxRuntime automatic @jsxImportSource preact */

/** What a form has done, and what was wrong with it. */
export interface FlashMessage {
  readonly said?: string | null | undefined
  readonly failure?: string | undefined
}

/** Nothing but these is said, whatever an address has in it. */
const SAID: Readonly<Record<string, string>> = {
  created: 'Created.',
  saved: 'Saved.',
  deleted: 'Deleted.',
  added: 'Added.',
  removed: 'Removed.',
}

export const FlashMessage = ({ said, failure }: FlashMessage) => {
  const words = said && Object.hasOwn(SAID, said) ? SAID[said] : undefined
  return (
    <>
      {words !== undefined && <Notice kind="said">{words}</Notice>}
      {failure !== undefined && <Notice kind="over">{sentence(failure)}</Notice>}
    </>
  )
}

/** To do it, and to see first whom it would change. */
export const Buttons = ({ act, isGrave = false }: { act: string; isGrave?: boolean }) => (
  <div class="buttons">
    <button type="submit" class={isGrave ? 'grave' : ''}>
      {act}
    </button>
    <button type="submit" class="quiet" name="do" value={SIMULATE}>
      See whom it would change
    </button>
  </div>
)

/** @jsxRuntime automatic @jsxImportSource preact */

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
