import type { IncomingMessage } from 'node:http'
import { AllotError } from '../errors.ts'

/**
 * Finds requests that a proxy in front may have split differently (request smuggling) and that node:http
 * accepts. The connection must be closed after such a request.
 */
export const smugglingFault = ({
  headers,
  rawHeaders,
  httpVersionMinor,
}: IncomingMessage): AllotError | undefined => {
  const coding = headers['transfer-encoding']
  // node:http does not decode other codings, and HTTP/1.0 has none.
  if (coding !== undefined && (coding.toLowerCase() !== 'chunked' || httpVersionMinor === 0))
    return new AllotError('bad_request', 'the only supported transfer coding is chunked, in HTTP/1.1')
  // RFC 9112 §3.2: "A server MUST respond with a 400 … to any request message that contains more than one
  // Host".
  if (countHosts(rawHeaders) > 1) return new AllotError('bad_request', 'there is more than one Host header')
  return undefined
}

const countHosts = (rawHeaders: readonly string[]): number => {
  let hosts = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++
  }
  return hosts
}
