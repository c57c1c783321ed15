import type { IncomingMessage, ServerResponse } from 'node:http'

/** Milliseconds that a client has to finish a request which is answered already. */
const LINGER = 3000

/**
 * Ends an answer after which the connection closes. To close at once would reset it under a client that still sends
 * its request, and many clients read nothing before they have sent all.
 */
export const endWithRequest = (res: ServerResponse, bytes: Buffer): void => {
  if (!isStillSending(res.req)) return void res.end(bytes)
  res.write(bytes)
  const end = () => void res.end()
  const timer = setTimeout(end, LINGER)
  res.req.once('end', end).resume()
  res.once('close', () => clearTimeout(timer))
}

/** A request without a body is over at once, although node:http says so only after its listener was called. */
const isStillSending = ({ complete, headers }: IncomingMessage): boolean =>
  !complete && (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0)
