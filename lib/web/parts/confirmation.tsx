/** @jsxRuntime automatic @jsxImportSource preact */
/** A confirmation that is typed, before something large is deleted: a click alone does not do it. */
import { invalid } from '../../errors.ts'
import { ConfirmButtons } from './components.tsx'
import { FieldFailure } from './fields.tsx'
import type { Form } from './form.ts'
import { invalidAttributes, labelOf } from './labels.ts'

/**
 * Field of the typed confirmation; a form without it is asked first. Forms that only a button confirms have the hidden field
 * `confirmed` instead, whose value says nothing.
 */
const FIELD = 'confirmation'

export interface Confirmation {
  /** What must be typed. */
  readonly expected: string
  /** Says what that is, such as `the name of the repository`. */
  readonly what: string
}

/** Whether the form comes from the page that asks. */
export const hasConfirmation = (form: Form): boolean => form.entries.some(([name]) => name === FIELD)

export const typedIn = (form: Form): string => form.text(FIELD)

/** @throws AllotError invalid unless the form has what must be typed */
export const checkConfirmation = (form: Form, { expected, what }: Confirmation): void => {
  const typed = typedIn(form)
  if (typed !== expected)
    throw invalid(`${FIELD}: expected "${expected}", ${what}, got "${typed}"; nothing was deleted`)
}

/** Why a confirmation was refused, and what was typed. */
export interface RefusedConfirmation {
  readonly failure?: string | undefined
  readonly typed?: string | undefined
}

interface TypedConfirmationProps extends Confirmation, RefusedConfirmation {
  /** Path of the page to go back to. */
  readonly cancel: string
  /** Text of the button that deletes. */
  readonly button: string
}

/** The field and the buttons of a page that asks. */
export const TypedConfirmation = ({
  expected,
  what,
  cancel,
  button,
  failure,
  typed,
}: TypedConfirmationProps) => (
  <div class="stacked more">
    <label for={FIELD}>
      {labelOf(FIELD)}: type <bdi>{expected}</bdi>, {what}
    </label>
    <input
      id={FIELD}
      name={FIELD}
      type="text"
      value={typed}
      required
      autocomplete="off"
      autocapitalize="none"
      spellcheck={false}
      {...invalidAttributes(FIELD, failure)}
    />
    <FieldFailure field={FIELD} failure={failure} />
    <ConfirmButtons cancel={cancel}>{button}</ConfirmButtons>
  </div>
)
