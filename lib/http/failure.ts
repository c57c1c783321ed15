/** Turns a thrown error into the failure that a client receives: status, message, and when to try again. */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { diskFault } from '../disk.ts'
import { AllotError, type ErrorCode } from '../errors.ts'
import type { Log } from './log.ts'

/** The client closed its connection, so there is no response to send. */
export class ClientDisconnected extends Error {}

const STATUSES = {
  bad_request: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  too_large: 413,
  over_quota: 413,
  unsupported_media_type: 415,
  invalid: 422,
  too_many_requests: 429,
  unavailable: 503,
  storage_full: 507,
  misconfigured: 500,
} as const satisfies Record<ErrorCode, number>
type ErrorStatus = (typeof STATUSES)[ErrorCode]

/** Descriptions of statuses in the OpenAPI document. */
export const statusTexts: Record<number, string> = {
  200: 'done',
  201: 'created',
  202: 'accepted',
  204: 'done; the body is empty',
  206: 'the part of the file that the request names in Range',
  301: 'the account or repository has another name or owner now; Location has its URL',
  308: 'the account or repository has another name or owner now; Location has its URL',
  400: 'the request is malformed',
  401: 'credentials are missing or wrong',
  403: 'the credentials do not allow this',
  404: 'it does not exist, or the client must not know that it exists; the body is empty, except with the option `dialect`',
  409: 'it conflicts with the present state, such as a name that is taken',
  413: 'the body is too large, or the owner would be over quota',
  415: 'the content type is not supported',
  416: 'the file has no such part as the request names in Range',
  422: 'input fails validation',
  429: 'too many failed logins; Retry-After has the seconds to wait',
  500: 'internal failure',
  503: 'the service is temporarily unavailable',
  507: 'the disk is full',
} satisfies Record<200 | 201 | 202 | 204 | 206 | 301 | 308 | 416 | ErrorStatus, string>

/** Messages of errors, as examples in the OpenAPI document. A 404 has none. */
export const errorExamples: Record<number, string> = {
  400: 'the path is not well encoded',
  401: 'token is required',
  403: 'user should be the site admin',
  409: 'a rule named small already exists',
  413: 'the body must not be larger than 1048576 bytes',
  415: 'the content type must be application/json',
  422: 'Limit is required',
  429: 'too many failed logins: try again in 30 seconds',
  500: "an internal error occurred; the server's log has it as 51a4b8f6-6b1e-4c6a-9f4d-0d3b8c1f2e7a",
  503: 'the server is stopping',
  507: 'the disk is full',
} satisfies Record<Exclude<ErrorStatus, 404>, string>

/** An error as the client gets it. */
export interface Failure {
  status: number
  message: string
  /** Further members of the body. */
  details?: object | undefined
  /** Seconds after which the client should try again. */
  retryAfter?: number | undefined
  isOutcomeUnknown?: boolean | undefined
}

/** The fields of a log line about a failed request, such as its method and path. */
interface FailedRequest {
  readonly [field: string]: unknown
  /** The host's id of the request, so that its log and Allot's name the same one. */
  readonly requestId?: string | undefined
}

/** @param path without the query string, which may hold secrets */
export const failedRequest = (req: IncomingMessage, res: ServerResponse, path: string): FailedRequest => {
  const requestId = res.getHeader('x-request-id')
  return { method: req.method ?? '', path, requestId: typeof requestId === 'string' ? requestId : undefined }
}

/**
 * Translates an error into a response. An unexpected error becomes a 500 that reveals only the id of its line
 * in the log.
 */
export const toFailure = (cause: unknown, log: Log, request: FailedRequest): Failure => {
  const error = (isSystemError(cause) && diskFault(cause)) || cause
  if (error instanceof AllotError) {
    const { message, retryAfter, isOutcomeUnknown } = error
    const status = STATUSES[error.code]
    if (error.isLogged) return { status, message, retryAfter, isOutcomeUnknown }
    // A 503 with `retryAfter` is a refusal for load: many of them share one line of the log.
    if (status === 503 && retryAfter !== undefined) logRefusal(error, log, request)
    else if (status === 507) logRefusal(error, log, { err: error, ...request }, FULL_DISK_INTERVAL)
    else if (status >= 500) log.error({ err: error, ...request }, message)
    return { status, message, details: error.details, retryAfter, isOutcomeUnknown }
  }
  const id = request.requestId ?? randomUUID()
  log.error({ err: error, ...request, requestId: id }, 'a request failed')
  return { status: 500, message: `an internal error occurred; the server's log has it as ${id}` }
}

/** Whether a call of the system has failed: the message of any other error may quote a client. */
const isSystemError = (error: unknown): boolean => error instanceof Error && 'syscall' in error

/** Clients may retry any 503 after a second, unless it is not known whether a write took place. */
export const retryAfterHeader = ({
  status,
  retryAfter = status === 503 ? 1 : undefined,
  isOutcomeUnknown = false,
}: Omit<Failure, 'message'>): Readonly<Record<string, string>> =>
  retryAfter === undefined || isOutcomeUnknown ? {} : { 'Retry-After': String(retryAfter) }

/** Milliseconds between two log lines with the same message about clients that ask for too much. */
const REFUSAL_INTERVAL = 1000
/** The same about a full disk, where lines are with their cause. */
const FULL_DISK_INTERVAL = 60_000

interface Refusals {
  loggedAt: number
  count: number
}

const refusalsOf = new WeakMap<Log, Map<string, Refusals>>()

/** Logs refusals that come in numbers, few enough not to fill the log or keep the server busy. */
const logRefusal = (
  { message }: AllotError,
  log: Log,
  request: FailedRequest,
  interval = REFUSAL_INTERVAL,
): void => {
  const byMessage = refusalsOf.get(log) ?? new Map<string, Refusals>()
  refusalsOf.set(log, byMessage)
  const refusals = byMessage.get(message) ?? { loggedAt: Number.NEGATIVE_INFINITY, count: 0 }
  byMessage.set(message, refusals)
  refusals.count++
  if (performance.now() - refusals.loggedAt < interval) return
  log.error({ ...request, refused: refusals.count }, message)
  Object.assign(refusals, { loggedAt: performance.now(), count: 0 })
}
