import type * as v from 'valibot'

/**
 * Kinds of errors, independent of HTTP: all layers throw {@link AllotError} with one of these codes, and each
 * has one status in the API. Forms of the pages and metrics have exceptions of their own.
 */
export type ErrorCode =
  | 'bad_request'
  | 'unauthenticated'
  | 'forbidden'
  | 'not_found'
  | 'conflict'
  | 'too_large'
  | 'over_quota'
  | 'unsupported_media_type'
  | 'invalid'
  | 'too_many_requests'
  | 'unavailable'
  | 'storage_full'
  | 'misconfigured'

interface ErrorDetails {
  cause?: unknown
  retryAfter?: number | undefined
  isOutcomeUnknown?: boolean | undefined
  field?: string | undefined
  details?: object | undefined
}

/**
 * The error of every call that fails for a reason that the caller can know. The message is a sentence.
 */
export class AllotError extends Error {
  /** `AllotError`, also in another copy of the package; errors of a driver have `StorageError`. */
  override readonly name: string = 'AllotError'
  /** Kind of the error. */
  readonly code: ErrorCode
  /**
   * Seconds after which a retry may succeed; undefined when unknown. An `unavailable` error that has it is a
   * refusal for load: many of them share one line of the log.
   */
  readonly retryAfter: number | undefined
  /**
   * Whether a write may have taken place: the client must look before it tries again, so its response has no
   * Retry-After.
   */
  readonly isOutcomeUnknown: boolean
  /** Path of the one member of the input that is wrong, such as `name` or `subjects[0]`; else undefined. */
  readonly field: string | undefined
  /** Members of the body of the response besides `message` and `url`; undefined for none. */
  readonly details: object | undefined
  /** Whether the log has a line about the cause already, so that it needs none for the request. */
  isLogged = false

  /** @param message sentence for the client, which gets it unchanged: it must not reveal internals */
  constructor(code: ErrorCode, message: string, options?: ErrorDetails) {
    super(message, options)
    this.code = code
    this.retryAfter = options?.retryAfter
    this.isOutcomeUnknown = options?.isOutcomeUnknown ?? false
    this.field = options?.field
    this.details = options?.details
  }
}

/** Input that fails validation: 422. */
export const invalid = (message: string): AllotError => new AllotError('invalid', message)

/**
 * The same about one member, which the message begins with.
 * @param field path of the member
 */
export const invalidMember = (field: string, problem: string, cause?: unknown): AllotError =>
  new AllotError('invalid', `${field}: ${problem}`, { field, cause })

/**
 * A name, an address or a key that another record has. Routes that declare no 409 answer 422, and that of
 * tokens 400.
 */
export const takenMember = (field: string, problem: string): AllotError =>
  new AllotError('conflict', `${field}: ${problem}`, { field })

/** @throws AllotError not_found with the message when there is no value */
export const existing = <T>(value: T | undefined, message: string): T => {
  if (value === undefined) throw new AllotError('not_found', message)
  return value
}

/**
 * Refuses an argument that has another type than its declaration says, for callers in JavaScript.
 * @param expected what the argument must be, such as `a string`
 * @throws AllotError invalid that names the argument
 */
export const checkArgument = (isRight: boolean, name: string, expected: string, value: unknown): void => {
  if (!isRight) throw invalidMember(name, `expected ${expected}, received ${describeValue(value)}`)
}

/** @throws AllotError invalid that names the argument */
export const checkString = (name: string, value: string): string => {
  checkArgument(typeof value === 'string', name, 'a string', value)
  return value
}

export const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

/**
 * Longest name, email address or word that is looked up: no record has a longer one. Two of this length fit
 * into one key of the store.
 */
export const NAME_LIMIT = 255

/**
 * Refuses what cannot be the name of a rule, a group or a token.
 * @throws AllotError invalid that names the member
 */
export const checkName = (name: string, member = 'name'): void => {
  checkString(member, name)
  if (!hasNameLength(name)) throw invalidMember(member, `must have 1 to ${NAME_LIMIT} characters`)
  refuseControls(name, member)
}

const hasNameLength = (name: string): boolean =>
  name !== '' && name.length <= NAME_LIMIT && name.isWellFormed()

const CONTROLS = /\p{Cc}/u

/** Whether {@link checkName} takes the value: as an owner of `createQuota`, which is any such text. */
export const isOwnerName = (value: unknown): value is string =>
  typeof value === 'string' && hasNameLength(value) && !CONTROLS.test(value)

/**
 * Refuses control characters in names of rules, groups, tokens and in ledger keys, which are printed line by
 * line.
 */
export const refuseControls = (text: string, member: string): void => {
  if (CONTROLS.test(text)) throw invalidMember(member, `must not have control characters`)
}

/**
 * Refuses `.` and `..` as names that stand in paths of URLs, of rules, groups, tokens and ledger keys: every
 * client takes them out of a path, also when they are percent-encoded.
 */
export const refuseDots = (text: string, member: string): void => {
  if (/^\.\.?$/.test(text)) throw invalidMember(member, `must not be ${text}, which cannot stand in a URL`)
}

/** As {@link checkName} and {@link refuseDots}. */
export const checkPathName = (name: string, member = 'name'): void => {
  checkName(name, member)
  refuseDots(name, member)
}

/**
 * Refuses options that do not exist.
 * @param hint where options are, for an object that options follow
 * @throws AllotError invalid that names the option
 */
export const checkOptionNames = (options: object, known: readonly string[], hint?: string): void => {
  const unknown = Object.keys(options).find((name) => !known.includes(name))
  if (unknown === undefined) return
  const expected = `there is no such option; expected one of ${known.join(', ')}`
  throw invalidMember(unknown, hint === undefined ? expected : `${expected}; ${hint}`)
}

/** Codes of errors that the input did not cause. */
const SERVER_FAULTS: readonly ErrorCode[] = ['unavailable', 'storage_full', 'misconfigured']

/**
 * Runs a function for one line of a file or a body.
 * @param unit what has the number, when it is not a line
 * @throws AllotError invalid, with the number of the line, when its content caused the error
 */
export const withLineNumber = async <T>(
  line: number,
  body: () => T | Promise<T>,
  unit = 'line',
): Promise<T> => {
  try {
    return await body()
  } catch (error) {
    if (!(error instanceof AllotError) || SERVER_FAULTS.includes(error.code)) throw error
    throw new AllotError('invalid', `${unit} ${line}: ${error.message}`, { cause: error })
  }
}

/** Path of the member that an issue is about, such as `limits.all[0]`; empty for the whole value. */
export const issuePath = (issue: v.BaseIssue<unknown>): string =>
  (issue.path ?? []).reduce((path, { key }) => {
    if (typeof key === 'number') return `${path}[${key}]`
    return path === '' ? String(key) : `${path}.${key}`
  }, '')

/**
 * Message of a validation error that names the member, such as
 * `limits.all[0]: expected a number, received the string "1"`.
 */
export const describeIssue = (issue: v.BaseIssue<unknown>): string => {
  const path = issuePath(issue)
  if (path === '') return `expected ${expectation(issue)}, received ${describeValue(issue.input)}`
  if (issue.kind === 'schema' && issue.received === 'undefined') return `${capitalize(path)} is required`
  if (issue.kind === 'schema')
    return `${path}: expected ${expectation(issue)}, received ${describeValue(issue.input)}`
  return `${path}: ${requirementOf(issue)}`
}

const expectation = ({ type, expected }: v.BaseIssue<unknown>): string => {
  const options = (expected ?? '').replace(/[()]/g, '').split(' | ')
  // Values are listed; types have an article.
  if (type === 'union' && options.every((option) => /^(?:string|number|boolean|Object|Array)$/.test(option)))
    return options.map(withArticle).join(' or ')
  if (type === 'picklist' || type === 'union' || type === 'variant') return `one of ${options.join(', ')}`
  return withArticle(type === 'object' ? 'Object' : (expected ?? ''))
}

const withArticle = (expected: string): string =>
  expected === 'Object'
    ? 'a JSON object'
    : `${/^[aeiou]/i.test(expected) ? 'an' : 'a'} ${expected.toLowerCase()}`

/** A value in a message, such as `the string "1"`. */
export const describeValue = (input: unknown): string => {
  if (input === null || input === undefined) return String(input)
  if (Array.isArray(input)) return 'an array'
  if (typeof input === 'object') return 'an object'
  const text = typeof input === 'string' ? JSON.stringify(input) : String(input)
  return `the ${typeof input} ${text.length > 60 ? `${text.slice(0, 60)}…` : text}`
}

/** A value that should be a name, in a message: such as `"small"`, or `the number 5`. */
export const describeName = (value: unknown): string =>
  typeof value === 'string' ? JSON.stringify(value) : describeValue(value)

/** Message of a failed check, such as `v.maxLength`. */
const requirementOf = (issue: v.BaseIssue<unknown>): string => {
  const { requirement } = issue as { requirement?: unknown }
  switch (issue.type) {
    case 'min_length':
      return `must have at least ${requirement} ${unitOf(issue.input, requirement)}`
    case 'max_length':
      return `must have at most ${requirement} ${unitOf(issue.input, requirement)}`
    case 'integer':
    case 'safe_integer':
      return 'expected a whole number between -(2^53-1) and 2^53-1'
    case 'min_value':
      return `must not be below ${requirement}`
    case 'max_value':
      return `must not be above ${requirement}`
    default:
      return issue.message
  }
}

const unitOf = (input: unknown, count: unknown): string =>
  `${Array.isArray(input) ? 'element' : 'character'}${count === 1 ? '' : 's'}`

const capitalize = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1)
