/** @jsxRuntime automatic @jsxImportSource preact */
/** Fields of the forms about accounts, also of those with which users change their own settings. */
import type { RenderableProps } from 'preact'
import { sentence, useShownRefusal } from './components.tsx'
import { type FieldName, invalidAttributes, isRefused, labelOf, refusalIn } from './labels.ts'

interface FieldFailureProps {
  field: FieldName
  /** Why the form was refused. */
  failure: string | undefined
}

/** Says why the form was refused, below the field that it was refused for. */
export const FieldFailure = ({ field, failure }: FieldFailureProps) =>
  isRefused(field, failure) ? <FailureText message={refusalIn(failure!).message} /> : null

const FailureText = ({ message }: { message: string }) => {
  useShownRefusal()
  return (
    <p class="field-failure" role="alert" id="failure">
      {sentence(message)}
    </p>
  )
}

/** The hint below a field, in whose place the message stands when the form was refused for it: both say what is expected. */
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
  failure: string | undefined
  hint?: string
}

/** The name of a rule, a group or a token. */
export const NameField = ({ value, failure, hint }: NameFieldProps) => (
  <>
    <label for="name">{labelOf('name')}</label>
    <input
      id="name"
      name="name"
      value={value}
      maxLength={255}
      required
      {...invalidAttributes('name', failure, hint && 'name-hint')}
    />
    <Hint field="name" failure={failure} id="name-hint">
      {hint}
    </Hint>
  </>
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
  failure?: string | undefined
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
    <>
      <label for={id}>{labelOf(name)}</label>
      {type === 'text' && <input type="text" autocomplete="off" {...attributes} />}
      {type === 'email' && <input type="email" autocomplete="off" {...attributes} />}
      {type === 'password' && <input type="password" autocomplete="new-password" {...attributes} />}
      {type === 'current-password' && (
        <input type="password" autocomplete="current-password" {...attributes} />
      )}
      <Hint field={name} failure={failure} id={`${id}-hint`}>
        {hint}
      </Hint>
    </>
  )
}

type LongFieldProps = Required<Pick<FieldProps, 'name' | 'value' | 'hint'>> & Pick<FieldProps, 'failure'>

/** A field for a text of several lines. */
export const LongField = ({ name, value, hint, failure }: LongFieldProps) => (
  <>
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
      {hint}
    </Hint>
  </>
)

const VISIBILITIES = { public: 'Public', limited: 'Limited', private: 'Private' } as const

interface VisibilityProps {
  value: string
  /** Why the form was refused. */
  failure: string | undefined
}

export const Visibility = ({ value, failure }: VisibilityProps) => (
  <>
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
  </>
)

/** @param failure why the form was refused */
export const AdminBox = ({ isChecked, failure }: { isChecked: boolean; failure?: string | undefined }) => (
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
