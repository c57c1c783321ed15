/** A confirmation that is typed, before something large is deleted: a click alone does not do it. */
import type { RenderableProps } from 'preact'
import { invalidMember } from '../../errors.ts'
import { Link, PageHead, Post, Section } from './components.tsx'
import { FieldFailure } from './fields.tsx'
import type { Form } from './form.ts'
import { invalidAttributes, labelOf, type Refusal } from './labels.ts'
import type { Crumb, View } from './route.ts'

/**
 * Field of the typed confirmation; a form without it is asked first. Forms that only a button confirms have
 * the hidden field `confirmed` instead, whose value says nothing.
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
    throw invalidMember(FIELD, `expected "${expected}", ${what}, got "${typed}"; nothing was deleted`)
}

/** Why a confirmation was refused, and what was typed. */
export interface RefusedConfirmation {
  readonly failure?: Refusal | undefined
  readonly typed?: string | undefined
}

interface TypedConfirmationProps extends Confirmation, RefusedConfirmation {
  /** Path of the page to go back to. */
  readonly cancel: string
  /** Text of the button that deletes. */
  readonly button: string
}

/**
 * The buttons of a page that asks first: one that does it, and a link back.
 * @param isUndoable whether the user can do the opposite afterwards: only what deletes or revokes for good is
 * red
 */
export const ConfirmButtons = ({
  cancel,
  isUndoable = false,
  children,
}: RenderableProps<{ cancel: string; isUndoable?: boolean | undefined }>) => (
  <div class="buttons">
    <button type="submit" class={isUndoable ? undefined : 'danger final'}>
      {children}
    </button>
    <Link class="button secondary" to={cancel}>
      Cancel
    </Link>
  </div>
)

interface ConfirmationPage {
  readonly title: string
  /** What the form changes. */
  readonly name: string
  /** The page to go back to. */
  readonly crumb: Crumb
  readonly effect: string
  /** Path and fields of the form. */
  readonly to: string
  readonly fields: Readonly<Record<string, string>>
  readonly button: string
  readonly isUndoable?: boolean
}

/** A page that asks first. Its form has the hidden field `confirmed`. */
export const confirmationPage = ({ title, name, crumb, effect, ...form }: ConfirmationPage): View => ({
  title,
  crumbs: [crumb],
  body: (
    <>
      <PageHead title={title} subtitle={<bdi>{name}</bdi>} />
      <Section id="confirm" title="What happens">
        <p>{effect}</p>
        <Post to={form.to} fields={{ ...form.fields, confirmed: 'yes' }}>
          <ConfirmButtons cancel={crumb.to} isUndoable={form.isUndoable}>
            {form.button}
          </ConfirmButtons>
        </Post>
      </Section>
    </>
  ),
})

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
