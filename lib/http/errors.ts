import { randomUUID } from 'node:crypto'
import { AllotError, type ErrorCode } from '../errors.ts'

/** The one table from what went wrong to what is answered. */
const statuses: Record<ErrorCode, number> = {
  bad_request: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  too_large: 413,
  unsupported_media_type: 415,
  invalid: 422,
  unavailable: 503,
  storage_full: 507,
}

/** What a plugin logs to: it owns no log. pino and console both fit. */
export interface Log {
  error(fields: object, message: string): void
  info(fields: object, message: string): void
}

export interface Failure {
  status: number
  message: string
}

/** The one translator. What is unknown is a 500 that says nothing of the inside; the log has it, under the same id. */
export const translate = (error: unknown, log: Log, method: string, path: string): Failure => {
  if (error instanceof AllotError) {
    const status = statuses[error.code]
    if (status >= 500) log.error({ err: error, method, path }, error.message)
    return { status, message: error.message }
  }
  const id = randomUUID()
  log.error({ err: error, requestId: id, method, path }, 'a request failed')
  return { status: 500, message: `an internal error occurred; the server's log has it as ${id}` }
}
