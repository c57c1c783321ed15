/** The labels of form fields, and which field a form was refused for. */
import type { AuditMember } from '../../audit.ts'

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

/** What the audit log calls each value, as a word within a sentence. */
const AUDIT_WORDS: Readonly<Record<AuditMember, string>> = {
  limit: 'limit',
  subjects: 'subjects',
  rules: 'rules',
  owners: 'owners',
  kind: 'kind',
  name: 'name',
  fullName: 'display name',
  email: 'email',
  description: 'description',
  visibility: 'visibility',
  admin: 'administrator',
  active: 'active',
  purge: 'contents deleted',
  token: 'token',
  scopes: 'scopes',
  id: 'id',
  host: 'host',
  events: 'events',
  hasSecret: 'secret',
  hasAuthorization: 'authorization header',
}

/** @param name member of a record: empty for a record that is one list, and a name of another version of Allot as it is */
export const wordFor = (name: string): string => (isAudited(name) ? AUDIT_WORDS[name] : name)

const isAudited = (name: string): name is AuditMember => Object.hasOwn(AUDIT_WORDS, name)

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

/** Marks a field when a form was refused for it. @param hint id of the hint of the field, in whose place the message stands then */
export const invalidAttributes = (field: FieldName, failure: string | undefined, hint?: string) => {
  const isInvalid = isRefused(field, failure)
  // The browser moves to the field, and a screen reader says its description.
  return {
    'aria-invalid': isInvalid || undefined,
    'aria-describedby': isInvalid ? 'failure' : hint || undefined,
    autofocus: isInvalid || undefined,
  }
}
