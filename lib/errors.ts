/**
 * What can go wrong, in the words of the domain. Every floor throws this one class; `lib/http/errors.ts` holds the
 * table from code to status and is the only place that turns an error into an answer.
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
  | 'unavailable'
  | 'storage_full'

export class AllotError extends Error {
  override readonly name: string = 'AllotError'
  readonly code: ErrorCode

  /** @param message one sentence for the caller: it is sent as it is, so it must not speak of the inside. */
  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.code = code
  }
}

/** Input that fails validation: 422, "input fails validation" in the specification. */
export const invalid = (message: string): AllotError => new AllotError('invalid', message)
