/** The labels of form fields, and which field a form was refused for. */

/**
 * The label of each field of the forms, by the name that services give it in messages. Forms show the label, and the message
 * of a refusal names the field by it, so that nobody reads a name of the code.
 */
const LABELS = {
  name: 'Name',
  fullName: 'Display name',
  description: 'Description',
  email: 'Email',
  website: 'Website',
  location: 'Location',
  visibility: 'Visibility',
  administrator: 'Administrator',
  owner: 'Owner',
  password: 'Password',
  currentPassword: 'Current password',
  newPassword: 'New password',
  repeatedPassword: 'Repeat new password',
  title: 'Title',
  key: 'SSH public key',
  armored: 'GPG public key',
  login: 'User name or email',
  accessToken: 'Access token',
  scopes: 'Scopes',
  image: 'New picture',
  limit: 'Limit',
  subjects: 'Subjects',
  rules: 'Rules',
  owners: 'Selected owners',
  group: 'Group',
  assignee: 'User or organization',
  confirmation: 'Confirmation',
} as const
export type FieldName = keyof typeof LABELS

export const labelOf = (field: FieldName): string => LABELS[field]

/** Values in the audit log that are not called as a field of a form is. */
const AUDIT_WORDS: ReadonlyMap<string, string> = new Map([
  ['admin', 'administrator'],
  // The number of owners of a group; the field of this name is about those that are selected.
  ['owners', 'owners'],
  ['purge', 'contents deleted'],
  ['hasSecret', 'secret'],
  ['hasAuthorization', 'authorization header'],
])

/** What a record of the audit log calls a value, as a word within a sentence. */
export const wordFor = (name: string): string =>
  AUDIT_WORDS.get(name) ?? (isField(name) ? labelOf(name).toLowerCase() : name)

const isField = (name: string): name is FieldName => Object.hasOwn(LABELS, name)

interface Refusal {
  /** The field whose value is wrong; undefined when it is no single one. */
  readonly field: FieldName | undefined
  /** The message, with the label of the field. */
  readonly message: string
}

/** `fullName: must …`, `Limit is required`, and the names of a list: `subjects[1]: …`, `groups.free.rules: …` */
const BEGINNING = /^(?:groups\..*\.)?(\w+)(?:\[\d+\])?(: | (?=is required|must ))/s

/** @param failure the message of the error that refused a form */
export const refusalIn = (failure: string): Refusal => {
  if (/^an? \w+ named .* already exists$/s.test(failure)) return { field: 'name', message: failure }
  const [beginning = '', word = '', separator] = BEGINNING.exec(failure) ?? []
  const name = word.charAt(0).toLowerCase() + word.slice(1)
  if (!isField(name)) return { field: undefined, message: failure }
  return { field: name, message: labelOf(name) + separator + failure.slice(beginning.length) }
}

/** The same message about another field, for a form whose field has another name than the service's parameter. */
export const aboutField = (failure: string, from: string, to: FieldName): string =>
  failure.startsWith(`${from}: `) ? `${to}${failure.slice(from.length)}` : failure

export const isRefused = (field: FieldName, failure: string | undefined): boolean =>
  failure !== undefined && refusalIn(failure).field === field

/** Marks a field when a form was refused for it. @param hint id of the hint of the field */
export const invalidAttributes = (field: FieldName, failure: string | undefined, hint?: string) => {
  const isInvalid = isRefused(field, failure)
  const describedBy = [isInvalid && 'failure', hint].filter(Boolean).join(' ') || undefined
  return { 'aria-invalid': isInvalid || undefined, 'aria-describedby': describedBy }
}
