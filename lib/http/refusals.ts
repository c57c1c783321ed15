import type { ServerResponse } from 'node:http'
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { retryAfterHeader } from './failure.ts'
import { REFERENCE_PATH } from './reference-page.ts'

/*
 * Responses that a server writes before anything sees the request, since the parser of node:http has refused
 * it or a limit is reached. Their body is that of all errors; its `url` is a path, since there may be no Host
 * header.
 */

const MESSAGES = {
  400: 'the request is malformed',
  408: 'the request did not arrive in time',
  413: 'the extensions of a chunk of the body are too long',
  431: 'the headers of the request are too large, or too many',
  503: 'the server has too many connections: try again after a second',
} as const
type RefusalStatus = keyof typeof MESSAGES

export const refusalBody = (status: RefusalStatus): string =>
  JSON.stringify({ message: MESSAGES[status], url: REFERENCE_PATH })

export const refusalHeaders = (status: RefusalStatus): string[] => [
  ...['Connection', 'close'],
  ...Object.entries(retryAfterHeader({ status })).flat(),
  ...['Content-Type', 'application/json;charset=utf-8', 'X-Content-Type-Options', 'nosniff'],
  ...['Content-Length', String(Buffer.byteLength(refusalBody(status)))],
]

/** The bytes of a response. */
export const refusalText = (status: RefusalStatus): string => {
  const headers = refusalHeaders(status).map((text, index) => (index % 2 === 0 ? `${text}: ` : `${text}\r\n`))
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${headers.join('')}\r\n${refusalBody(status)}`
}

/** Statuses that node:http answers errors of its parser with; 400 is that of any other. */
const PARSER_STATUSES: Readonly<Record<string, RefusalStatus>> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
}

/** For the event `clientError`: answers as node:http does, with a body, unless a response has begun. */
export const answerParserError = ({ code = '' }: NodeJS.ErrnoException, socket: Socket): void => {
  const { _httpMessage: current } = socket as { _httpMessage?: ServerResponse | null }
  if (socket.writable && !current?.headersSent) socket.write(refusalText(PARSER_STATUSES[code] ?? 400))
  socket.destroy()
}
