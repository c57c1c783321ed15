import type * as v from 'valibot'

/**
 * Kinds of errors, independent of HTTP. All layers throw {@link AllotError} with one of these codes; `lib/http/failure.ts` maps
 * codes to HTTP statuses, and nothing else does.
 */
export type ErrorCode =
  | 'bad_request'
  | 'unauthenticated'
  | 'forbidden'
  | 'not_found'
  | 'conflict'
  | 'too_large'
  | 'unsupported_media_type'
  | 'invalid'
  | 'too_many_requests'
  | 'unavailable'
  | 'storage_full'
  | 'misconfigured'

export class AllotError extends Error {
  override readonly name: string = 'AllotError'
  readonly code: ErrorCode
  /** Seconds after which a retry may succeed; undefined when unknown. */
  readonly retryAfter: number | undefined

  /** @param message sentence for the client, which gets it unchanged: it must not reveal internals */
  constructor(code: ErrorCode, message: string, options?: { cause?: unknown; retryAfter?: number }) {
    super(message, options)
    this.code = code
    this.retryAfter = options?.retryAfter
  }
}

/** Input that fails validation: 422, "input fails validation" in the specification. */
export const invalid = (message: string): AllotError => new AllotError('invalid', message)

/** Codes of errors that the input did not cause. */
const SERVER_FAULTS: readonly ErrorCode[] = ['unavailable', 'storage_full', 'misconfigured']

/**
 * Runs a function for one line of a file or a body.
 * @throws AllotError invalid with the number of the line, when its content caused the error
 */
export const withLineNumber = async <T>(line: number, body: () => T | Promise<T>): Promise<T> => {
  try {
    return await body()
  } catch (error) {
    if (!(error instanceof AllotError) || SERVER_FAULTS.includes(error.code)) throw error
    throw new AllotError('invalid', `line ${line}: ${error.message}`, { cause: error })
  }
}

/** Path of the member that an issue is about, such as `limits.all[0]`; empty for the whole value. */
export const issuePath = (issue: v.BaseIssue<unknown>): string =>
  (issue.path ?? []).reduce((path, { key }) => {
    if (typeof key === 'number') return `${path}[${key}]`
    return path === '' ? String(key) : `${path}.${key}`
  }, '')

/**
 * Message of a validation error, such as `limits.all[0]: Invalid type: Expected number but received "1"`. The
 * messages of `lib/http/validate.ts` and `lib/options.ts` say more about what was expected.
 */
export const describeIssue = (issue: v.BaseIssue<unknown>): string => {
  const path = issuePath(issue)
  return path === '' ? issue.message : `${path}: ${issue.message}`
}
