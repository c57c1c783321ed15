/** A confirmation that is typed, before something large is deleted: a click alone does not do it. */
import type { RenderableProps } from 'preact'
import { invalidMember } from '../../errors.ts'
import { Link, PageHead, Post, Section, Submit, useEntered } from './components.tsx'
import { FieldFailure, useInvalid } from './fields.tsx'
import type { Form } from './form.ts'
import { labelOf } from './labels.ts'
import type { Crumb, View } from './route.ts'

/** Field of the typed confirmation. Forms that only a button confirms have the hidden field `confirmed`. */
const FIELD = 'confirmation'

export interface Confirmation {
  /** What must be typed. */
  readonly expected: string
  /** Says what that is, such as `the name of the repository`. */
  readonly what: string
}

/** @throws AllotError invalid unless the form has what must be typed */
export const checkConfirmation = (form: Form, { expected, what }: Confirmation): void => {
  const typed = form.text(FIELD)
  if (typed !== expected)
    throw invalidMember(FIELD, `expected "${expected}", ${what}, got "${typed}"; nothing was deleted`)
}

interface TypedConfirmationProps extends Confirmation {
  /** Path of the page to go back to. */
  readonly cancel: string
  /** Text of the button that deletes. */
  readonly button: string
}

/** The buttons of a page that asks first: one that deletes or revokes for good, and a link back. */
export const ConfirmButtons = ({ cancel, children }: RenderableProps<{ cancel: string }>) => (
  <div class="buttons">
    <Submit kind="danger final">{children}</Submit>
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
          <ConfirmButtons cancel={crumb.to}>{form.button}</ConfirmButtons>
        </Post>
      </Section>
    </>
  ),
})

/** The field and the buttons of a page that asks. */
export const TypedConfirmation = ({ expected, what, cancel, button }: TypedConfirmationProps) => (
  <div class="stacked more">
    <label for={FIELD}>
      {labelOf(FIELD)}: type <bdi>{expected}</bdi>, {what}
    </label>
    <input
      id={FIELD}
      name={FIELD}
      type="text"
      value={useEntered()?.form.text(FIELD)}
      required
      autocomplete="off"
      autocapitalize="none"
      spellcheck={false}
      {...useInvalid(FIELD)}
    />
    <FieldFailure field={FIELD} />
    <ConfirmButtons cancel={cancel}>{button}</ConfirmButtons>
  </div>
)
