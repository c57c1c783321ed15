/** The labels of form fields, and which field a form was refused for. */
import type { AuditMember } from '../../audit.ts'
import type { AllotError } from '../../errors.ts'

/**
 * The label of each field of the forms, by the name that services give it in messages. Forms show the label,
 * and the message of a refusal names the field by it, so that nobody reads a name of the code.
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
  limit: 'Limit',
  subjects: 'Subjects',
  rules: 'Rules',
  owners: 'Selected owners',
  group: 'Group',
  assignee: 'User or organization',
  q: 'Search issues',
  confirmation: 'Confirmation',
} as const
export type FieldName = keyof typeof LABELS

export const labelOf = (field: FieldName): string => LABELS[field]

/** What the audit log calls values whose name is not a word within a sentence. */
const AUDIT_WORDS: ReadonlyMap<string, string> = new Map<AuditMember, string>([
  ['fullName', 'display name'],
  ['admin', 'administrator'],
  ['purge', 'contents deleted'],
  ['hasSecret', 'secret'],
  ['hasAuthorization', 'authorization header'],
])

/**
 * @param name member of a record: empty for a record that is one list, and a name of another version of Allot
 * as it is
 */
export const wordFor = (name: string): string => AUDIT_WORDS.get(name) ?? name

const isField = (name: string): name is FieldName => Object.hasOwn(LABELS, name)

/** Why a form was refused. */
export interface Refusal {
  /** The field whose value is wrong; undefined when it is no single one. */
  readonly field: FieldName | undefined
  /** What is wrong, for a place that names the field already. */
  readonly problem: string
}

/** The fields of a form that have another name than the members that a service names. */
export type OtherNames = Readonly<Record<string, FieldName>>

/** @param error which refused a form */
export const refusalOf = ({ message, field: path = '' }: AllotError, names: OtherNames = {}): Refusal => {
  const field = fieldAt(path, names)
  const prefix = `${path}: `
  const isNamed = field !== undefined && message.startsWith(prefix)
  return { field, problem: isNamed ? message.slice(prefix.length) : message }
}

/** The field of the last member of a path: of `subjects[1]` and of `groups.free.rules`, it is the list. */
const fieldAt = (path: string, names: OtherNames): FieldName | undefined => {
  const member = path.slice(path.lastIndexOf('.') + 1).split('[', 1)[0]!
  if (Object.hasOwn(names, member)) return names[member]
  return isField(member) ? member : undefined
}

/** For a place where the field does not show. */
export const messageOf = ({ field, problem }: Refusal): string =>
  field === undefined ? problem : `${labelOf(field)}: ${problem}`
