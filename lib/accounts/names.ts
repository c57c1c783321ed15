import { checkString, invalidMember } from '../errors.ts'

/** Longest name of an account. */
export const NAME_LENGTH = 40

/**
 * Account names have 1 to 40 characters, a letter or digit at both ends and no `..`. Names are compared
 * without case.
 */
const ACCOUNT_NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/
/** Names that are part of paths of the API, of git, or of other servers with this API. */
const RESERVED = new Set(
  `admin api assets attachments avatars captcha debug error explore favicon.ico ghost healthz issues login
   manifest.json metrics milestones notifications org pulls raw readyz repo robots.txt search
   serviceworker.js ssh_info swagger target user username users v2`.split(/\s+/),
)

export const checkAccountName = (name: string): void => {
  checkLength(name, NAME_LENGTH)
  if (!ACCOUNT_NAME.test(name) || name.includes('..'))
    throw invalidMember(
      'name',
      "only letters, digits, '.', '_' and '-' are allowed, a letter or digit at both ends, and no '..'",
    )
  if (RESERVED.has(name.toLowerCase())) throw invalidMember('name', `${name} is reserved`)
}

/** @throws AllotError invalid for a name that is too long or empty, and for a value that is not a string */
export const checkLength = (name: string, limit: number): void => {
  checkString('name', name)
  if (name.length < 1 || name.length > limit)
    throw invalidMember('name', `must have 1 to ${limit} characters`)
}

/**
 * Address that replaces an account's email in git data and in responses for other users, who never see the
 * email itself.
 */
export const noreplyAddress = (name: string, host: string): string => `${name.toLowerCase()}@noreply.${host}`

/** Whether {@link checkAccountName} takes the value. */
export const isAccountName = (value: unknown): value is string => {
  try {
    checkAccountName(value as string)
    return true
  } catch {
    return false
  }
}

/** An email address, or an empty text for none. */
export const OPTIONAL_EMAIL = /^$|^[^\s@<>]+@[^\s@<>]+$/

/**
 * Accepts an email address or an empty text.
 * @throws AllotError invalid
 */
export const checkEmail = (email: string): void => {
  if (!OPTIONAL_EMAIL.test(email)) throw invalidMember('email', 'expected an email address')
}
