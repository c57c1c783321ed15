import type { IncomingMessage } from 'node:http'
import { AllotError } from '../../errors.ts'

/**
 * What is wrong with a request that a proxy in front may have read as another one: node:http is strict about where a
 * body ends and where a header does, and hands these few on. Nothing else on such a connection can be believed.
 */
export const smugglingFault = ({
  headers,
  rawHeaders,
  httpVersionMinor,
}: IncomingMessage): AllotError | undefined => {
  const coding = headers['transfer-encoding']
  // node:http leaves any other coding undecoded, and in HTTP/1.0 there was none.
  if (coding !== undefined && (coding.toLowerCase() !== 'chunked' || httpVersionMinor === 0))
    return new AllotError('bad_request', 'the only transfer coding that is taken is chunked, in HTTP/1.1')
  // RFC 9112, 3.2: "A server MUST respond with a 400 … to any request message that contains more than one Host".
  if (countHosts(rawHeaders) > 1) return new AllotError('bad_request', 'there is more than one Host header')
  return undefined
}

const countHosts = (rawHeaders: readonly string[]): number => {
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++
  }
  return hosts
}
