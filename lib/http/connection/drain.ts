import type { IncomingMessage, ServerResponse } from 'node:http'

/** Milliseconds that a client has to finish a request which is answered already. */
const LINGER = 3000

/**
 * Ends an answer that may have been given before its request was over. What is left of the request is read and dropped,
 * but not for longer than a moment: node:http itself would go on until the time for a whole request is up.
 * Where the connection ends with the answer, to close at once would reset it under a client that still sends, and many
 * clients read nothing before they have sent all.
 */
export const endAfterDrain = (res: ServerResponse, bytes: Buffer): void => {
  const { req, shouldKeepAlive } = res
  if (!isStillSending(req)) return void res.end(bytes)
  if (shouldKeepAlive) res.end(bytes)
  else {
    res.write(bytes)
    req.once('end', () => res.end())
  }
  // Whoever was reading it has stopped.
  req.unpipe()
  const timer = setTimeout(() => (shouldKeepAlive ? req.socket.destroy() : res.end()), LINGER)
  req.once('close', () => clearTimeout(timer)).resume()
}

/** A request without a body is over at once, although node:http says so only after its listener was called. */
export const isStillSending = ({ complete, headers }: IncomingMessage): boolean =>
  !complete && (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0)
