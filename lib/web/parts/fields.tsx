/** Fields of the forms about accounts, also of those with which users change their own settings. */
import type { RenderableProps } from 'preact'
import type { Account } from '../../records/schema/index.ts'
import { sentence, useShownRefusal } from './components.tsx'
import { Icon } from './inline.tsx'
import { type FieldName, invalidAttributes, isRefused, labelOf, type Refusal } from './labels.ts'

interface FieldFailureProps {
  field: FieldName
  /** Why the form was refused. */
  failure: Refusal | undefined
  /** What was entered. A message that begins with it keeps it as it is, and has no capital letter. */
  value?: string | undefined
}

/** Says why the form was refused, below the field that it was refused for. */
export const FieldFailure = ({ field, failure, value = '' }: FieldFailureProps) =>
  isRefused(field, failure) ? <FailureText problem={failure!.problem} value={value} /> : null

const FailureText = ({ problem, value }: { problem: string; value: string }) => {
  useShownRefusal()
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
export const Hint = ({ id, children, ...failed }: RenderableProps<FieldFailureProps & { id: string }>) =>
  isRefused(failed.field, failed.failure) ? (
    <FieldFailure {...failed} />
  ) : (
    children !== undefined && (
      <p class="hint" id={id}>
        {children}
      </p>
    )
  )

interface NameFieldProps {
  value: string
  /** Why the form was refused. */
  failure: Refusal | undefined
  hint?: string
}

/** The name of a rule, a group or a token. */
export const NameField = ({ value, failure, hint }: NameFieldProps) => (
  <div class="field">
    <label for="name">{labelOf('name')}</label>
    <input
      id="name"
      name="name"
      value={value}
      maxLength={255}
      required
      {...invalidAttributes('name', failure, hint && 'name-hint')}
    />
    <Hint field="name" failure={failure} value={value} id="name-hint">
      {hint}
    </Hint>
  </div>
)

interface FieldProps {
  name: FieldName
  /** Id of the field, and its name in the form, if not the same. */
  id?: string
  value?: string
  hint?: string
  /** `password`: a new one. */
  type?: 'text' | 'email' | 'password' | 'current-password'
  isRequired?: boolean
  /** Why the form was refused. */
  failure?: Refusal | undefined
}

export const Field = ({
  name,
  id = name,
  value = '',
  hint,
  type = 'text',
  isRequired = false,
  failure,
}: FieldProps) => {
  const attributes = {
    id,
    name: id,
    value,
    required: isRequired,
    spellcheck: false,
    autocapitalize: 'none' as const,
    ...invalidAttributes(name, failure, hint && `${id}-hint`),
  }
  return (
    <div class="field">
      <label for={id}>{labelOf(name)}</label>
      {type === 'text' && <input type="text" autocomplete="off" {...attributes} />}
      {type === 'email' && <input type="email" autocomplete="off" {...attributes} />}
      {type === 'password' && <input type="password" autocomplete="new-password" {...attributes} />}
      {type === 'current-password' && (
        <input type="password" autocomplete="current-password" {...attributes} />
      )}
      <Hint field={name} failure={failure} value={value} id={`${id}-hint`}>
        {hint}
      </Hint>
    </div>
  )
}

/** Short fields side by side, where there is space. */
export const Fields = ({ children }: RenderableProps<unknown>) => <div class="fields">{children}</div>

type LongFieldProps = Required<Pick<FieldProps, 'name' | 'value'>> & Pick<FieldProps, 'failure'>

/** A field for a text of several lines, with its hint as its children. */
export const LongField = ({ name, value, failure, children }: RenderableProps<LongFieldProps>) => (
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
      {...invalidAttributes(name, failure, `${name}-hint`)}
    >
      {value}
    </textarea>
    <Hint field={name} failure={failure} id={`${name}-hint`}>
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

interface VisibilityProps {
  value: string
  /** Why the form was refused. */
  failure: Refusal | undefined
}

export const Visibility = ({ value, failure }: VisibilityProps) => (
  <div class="field">
    <label for="visibility">{labelOf('visibility')}</label>
    <select
      id="visibility"
      name="visibility"
      {...invalidAttributes('visibility', failure, 'visibility-hint')}
    >
      {Object.entries(VISIBILITIES).map(([name, text]) => (
        <option key={name} value={name} selected={name === value}>
          {text}
        </option>
      ))}
    </select>
    <Hint field="visibility" failure={failure} id="visibility-hint">
      A public account is visible to everyone, a limited one to signed-in users, and a private one to itself,
      its members and administrators.
    </Hint>
  </div>
)

/** @param failure why the form was refused */
export const AdminBox = ({ isChecked, failure }: { isChecked: boolean; failure?: Refusal | undefined }) => (
  <>
    <label class="box">
      <input
        type="checkbox"
        name="admin"
        value="yes"
        checked={isChecked}
        {...invalidAttributes('administrator', failure)}
      />
      <span>
        {labelOf('administrator')} <span class="small about">May see and change everything.</span>
      </span>
    </label>
    <FieldFailure field="administrator" failure={failure} />
  </>
)
