/** Fields of forms. Each shows what was entered when its form is shown again, and why it was refused. */
import type { RenderableProps } from 'preact'
import type { Account } from '../../records/schema/index.ts'
import { sentence, useEntered } from './components.tsx'
import { Icon } from './inline.tsx'
import { type FieldName, labelOf } from './labels.ts'

/**
 * Marks a field when the form around it was refused for it.
 * @param hint id of the hint of the field, in whose place the message stands then
 */
export const useInvalid = (field: FieldName | undefined, hint?: string) => {
  const refused = useEntered()?.refusal?.field
  const isInvalid = field !== undefined && refused === field
  // The browser moves to the field, and a screen reader says its description.
  return {
    'aria-invalid': isInvalid || undefined,
    'aria-describedby': isInvalid ? 'failure' : hint || undefined,
    autofocus: isInvalid || undefined,
  }
}

interface FieldFailureProps {
  field: FieldName
  /** What was entered. A message that begins with it keeps it as it is, and has no capital letter. */
  value?: string | undefined
}

/** Says why the form was refused, below the field that it was refused for. */
export const FieldFailure = ({ field, value = '' }: FieldFailureProps) => {
  const entered = useEntered()
  if (entered?.refusal?.field !== field) return null
  entered.isShown = true
  const { problem } = entered.refusal
  return (
    <p class="field-failure" role="alert" id="failure">
      {value !== '' && problem.startsWith(value) ? `${problem}.` : sentence(problem)}
    </p>
  )
}

/**
 * The hint below a field, in whose place the message stands when the form was refused for it: both say what
 * is expected.
 */
export const Hint = ({ id, children, ...field }: RenderableProps<FieldFailureProps & { id: string }>) =>
  useInvalid(field.field)['aria-invalid'] ? (
    <FieldFailure {...field} />
  ) : (
    children !== undefined && (
      <p class="hint" id={id}>
        {children}
      </p>
    )
  )

interface FieldProps {
  name: FieldName
  /** Id of the field, and its name in the form, if not the same. */
  id?: string
  value?: string
  hint?: string | undefined
  /** `password`: a new one. */
  type?: 'text' | 'email' | 'password' | 'current-password'
  isRequired?: boolean
  maxLength?: number
}

/** What browsers fill in. */
const AUTOCOMPLETE = { password: 'new-password', 'current-password': 'current-password' } as const

export const Field = ({
  name,
  id = name,
  value,
  hint,
  type = 'text',
  isRequired = false,
  maxLength,
}: FieldProps) => {
  const isPassword = type === 'password' || type === 'current-password'
  const entered = useEntered()?.form.text(id)
  const shown = isPassword ? '' : (entered ?? value ?? '')
  return (
    <div class="field">
      <label for={id}>{labelOf(name)}</label>
      <input
        // Preact has a type of attributes for each type of input.
        type={(isPassword ? 'password' : type) as 'text'}
        autocomplete={isPassword ? AUTOCOMPLETE[type] : 'off'}
        id={id}
        name={id}
        value={shown}
        maxLength={maxLength}
        required={isRequired}
        spellcheck={false}
        autocapitalize="none"
        {...useInvalid(name, hint && `${id}-hint`)}
      />
      <Hint field={name} value={shown} id={`${id}-hint`}>
        {hint}
      </Hint>
    </div>
  )
}

/** The name of a rule, a group or a token. */
export const NameField = (field: { id?: string; hint?: string }) => (
  <Field name="name" {...field} maxLength={255} isRequired />
)

/** Short fields side by side, where there is space. */
export const Fields = ({ children }: RenderableProps<unknown>) => <div class="fields">{children}</div>

/** A field for a text of several lines, with its hint as its children. */
export const LongField = ({ name, children }: RenderableProps<{ name: FieldName }>) => (
  <div class="field">
    <label for={name}>{labelOf(name)}</label>
    <textarea
      id={name}
      name={name}
      rows={5}
      required
      spellcheck={false}
      autocapitalize="none"
      autocomplete="off"
      {...useInvalid(name, `${name}-hint`)}
    >
      {useEntered()?.form.text(name) ?? ''}
    </textarea>
    <Hint field={name} id={`${name}-hint`}>
      {children}
    </Hint>
  </div>
)

/** The filter of a list by names. */
export const NameFilter = ({ id, ...input }: { id: string; value: string; maxLength?: number }) => (
  <div>
    <label for={id}>Name contains</label>
    <span class="searched">
      <Icon name="search" />
      <input id={id} name={id} type="search" {...input} autocapitalize="none" spellcheck={false} />
    </span>
  </div>
)

interface WholeNameFilterProps {
  id: string
  label: string
  value: string | undefined
  maxLength?: number
}

/** A filter by a name that must match as a whole. */
export const WholeNameFilter = ({ id, label, value = '', ...input }: WholeNameFilterProps) => (
  <div>
    <label for={id}>{label}</label>
    <input id={id} name={id} value={value} {...input} autocapitalize="none" spellcheck={false} />
  </div>
)

interface ChoiceFilterProps {
  id: string
  name?: string
  label: string
  /** Text of the choice that finds all. */
  any: string
  choices: readonly (readonly [value: string, text: string])[]
  chosen: string | undefined
}

/** The filter of a list by one of several values. */
export const ChoiceFilter = ({ id, name = id, label, any, choices, chosen }: ChoiceFilterProps) => (
  <div>
    <label for={id}>{label}</label>
    <select id={id} name={name}>
      <option value="">{any}</option>
      {choices.map(([value, text]) => (
        <option key={value} value={value} selected={value === chosen}>
          {text}
        </option>
      ))}
    </select>
  </div>
)

const VISIBILITIES: Readonly<Record<Account['visibility'], string>> = {
  public: 'Public',
  limited: 'Limited',
  private: 'Private',
}

export const Visibility = ({ value }: { value: string }) => {
  const chosen = useEntered()?.form.text('visibility') || value
  return (
    <div class="field">
      <label for="visibility">{labelOf('visibility')}</label>
      <select id="visibility" name="visibility" {...useInvalid('visibility', 'visibility-hint')}>
        {Object.entries(VISIBILITIES).map(([name, text]) => (
          <option key={name} value={name} selected={name === chosen}>
            {text}
          </option>
        ))}
      </select>
      <Hint field="visibility" id="visibility-hint">
        A public account is visible to everyone, a limited one to signed-in users, and a private one to
        itself, its members and administrators.
      </Hint>
    </div>
  )
}

/** The values of the boxes with a name that are ticked in the form around. */
export const useChosen = (name: string, stored: readonly string[] = []): readonly string[] =>
  useEntered()?.form.all(name) ?? stored

interface BoxProps {
  name: string
  value?: string
  isChecked: boolean
  /** The field that a message about the box is about. */
  field?: FieldName
  class?: string | undefined
  /** Values of the boxes that include this one, for the script. */
  'data-in'?: string | undefined
}

/** A box with its text as its children. */
export const Box = ({ field, class: more, isChecked, children, ...box }: RenderableProps<BoxProps>) => {
  const { name, value = 'yes', ...rest } = box
  return (
    <label class={more === undefined ? 'box' : `box ${more}`}>
      <input type="checkbox" name={name} value={value} checked={isChecked} {...rest} {...useInvalid(field)} />
      <span>{children}</span>
    </label>
  )
}

export const AdminBox = ({ isChecked = false }: { isChecked?: boolean }) => (
  <>
    <Box
      field="administrator"
      name="admin"
      isChecked={useChosen('admin', isChecked ? ['yes'] : []).includes('yes')}
    >
      {labelOf('administrator')} <span class="small about">May see and change everything.</span>
    </Box>
    <FieldFailure field="administrator" />
  </>
)
