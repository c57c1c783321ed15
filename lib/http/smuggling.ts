import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { send, TEXT_HEADERS } from './send.ts'

/** Connections that close: what follows on them may be a part of the request that was refused. */
const closing = new WeakSet<Socket>()

/**
 * Refuses requests that a proxy in front may have split differently (request smuggling) and that node:http
 * accepts, and everything that follows on the same connection. Every listener calls this first, whatever the
 * path of the request.
 * @returns whether the request is refused
 */
export const refuseAmbiguous = (req: IncomingMessage, res: ServerResponse): boolean => {
  if (closing.has(req.socket)) return true
  const fault = faultOf(req)
  if (fault === undefined) return false
  if (req.httpVersionMajor === 1) closing.add(req.socket)
  res.shouldKeepAlive = false
  // node:http may be about to respond to the same request with an error of its own.
  setImmediate(() => send(res, 400, `${fault}\n`, TEXT_HEADERS))
  return true
}

const faultOf = ({ headers, rawHeaders, httpVersionMinor }: IncomingMessage): string | undefined => {
  const coding = headers['transfer-encoding']
  // node:http does not decode other codings, and HTTP/1.0 has none.
  if (coding !== undefined && (coding.toLowerCase() !== 'chunked' || httpVersionMinor === 0))
    return 'the only supported transfer coding is chunked, in HTTP/1.1'
  // RFC 9112 §3.2: "A server MUST respond with a 400 … to any request message that contains more than one
  // Host".
  return countHosts(rawHeaders) > 1 ? 'there is more than one Host header' : undefined
}

const countHosts = (rawHeaders: readonly string[]): number => {
  let hosts = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++
  }
  return hosts
}
