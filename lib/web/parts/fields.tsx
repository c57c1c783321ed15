/** @jsxRuntime automatic @jsxImportSource preact */
/** Fields of the forms about accounts. */
import { invalidAttributes } from './refused.ts'

interface FieldProps {
  id: string
  /** The name by which a refusal calls the field, if not by its id. */
  member?: string
  label: string
  value?: string
  hint?: string
  /** `password`: a new one. */
  type?: 'text' | 'email' | 'password' | 'current-password'
  isRequired?: boolean
  /** Why the form was refused. */
  failure?: string | undefined
}

export const Field = ({
  id,
  member = id,
  label,
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
    ...invalidAttributes(member, failure, hint && `${id}-hint`),
  }
  return (
    <>
      <label for={id}>{label}</label>
      {type === 'text' && <input type="text" autocomplete="off" {...attributes} />}
      {type === 'email' && <input type="email" autocomplete="off" {...attributes} />}
      {type === 'password' && <input type="password" autocomplete="new-password" {...attributes} />}
      {type === 'current-password' && (
        <input type="password" autocomplete="current-password" {...attributes} />
      )}
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </>
  )
}

/** A field for a text of several lines, which a refusal calls by its label. */
export const LongField = ({
  id,
  label,
  value,
  hint,
  failure,
}: Required<Pick<FieldProps, 'id' | 'label' | 'value' | 'hint'>> & Pick<FieldProps, 'failure'>) => (
  <>
    <label for={id}>{label}</label>
    <textarea
      id={id}
      name={id}
      rows={5}
      required
      spellcheck={false}
      autocapitalize="none"
      autocomplete="off"
      {...invalidAttributes(label, failure, `${id}-hint`)}
    >
      {value}
    </textarea>
    <p class="hint" id={`${id}-hint`}>
      {hint}
    </p>
  </>
)

const VISIBILITIES = { public: 'Public', limited: 'Limited', private: 'Private' } as const

export const Visibility = ({ value }: { value: string }) => (
  <>
    <label for="visibility">Visibility</label>
    <select id="visibility" name="visibility" aria-describedby="visibility-hint">
      {Object.entries(VISIBILITIES).map(([name, text]) => (
        <option key={name} value={name} selected={name === value}>
          {text}
        </option>
      ))}
    </select>
    <p class="hint" id="visibility-hint">
      Everyone can see a public account, signed-in users a limited one; only itself, its members and
      administrators can see a private one.
    </p>
  </>
)

/** @param failure why the form was refused */
export const AdminBox = ({ isChecked, failure }: { isChecked: boolean; failure?: string | undefined }) => (
  <label class="box">
    <input
      type="checkbox"
      name="admin"
      value="yes"
      checked={isChecked}
      {...invalidAttributes('administrator', failure)}
    />
    <span>
      Administrator <span class="small">May see and change everything.</span>
    </span>
  </label>
)
