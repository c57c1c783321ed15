/** @jsxRuntime automatic @jsxImportSource preact */
/** Fields of the forms about accounts. */

interface FieldProps {
  id: string
  label: string
  value?: string
  hint?: string
  type?: 'text' | 'email' | 'password'
  isRequired?: boolean
}

export const Field = ({ id, label, value = '', hint, type = 'text', isRequired = false }: FieldProps) => {
  const attributes = {
    id,
    name: id,
    value,
    required: isRequired,
    spellcheck: false,
    autocapitalize: 'none' as const,
    'aria-describedby': hint === undefined ? undefined : `${id}-hint`,
  }
  return (
    <>
      <label for={id}>{label}</label>
      {type === 'text' && <input type="text" autocomplete="off" {...attributes} />}
      {type === 'email' && <input type="email" autocomplete="off" {...attributes} />}
      {type === 'password' && <input type="password" autocomplete="new-password" {...attributes} />}
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </>
  )
}

const VISIBILITIES = {
  public: 'Everyone can see it',
  limited: 'Signed-in users can see it',
  private: 'Only itself, its members and administrators can see it',
} as const

export const Visibility = ({ value }: { value: string }) => (
  <>
    <label for="visibility">Visibility</label>
    <select id="visibility" name="visibility">
      {Object.entries(VISIBILITIES).map(([name, text]) => (
        <option key={name} value={name} selected={name === value}>
          {text}
        </option>
      ))}
    </select>
  </>
)

export const AdminBox = ({ isChecked }: { isChecked: boolean }) => (
  <label class="box">
    <input type="checkbox" name="admin" value="yes" checked={isChecked} />
    <span>
      Administrator <span class="small">May see and change everything.</span>
    </span>
  </label>
)
