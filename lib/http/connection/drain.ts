import type { IncomingMessage, ServerResponse } from 'node:http'

/** Milliseconds that a client has to finish a request that already has its response. */
const DRAIN_TIMEOUT_MS = 3000

/**
 * Ends a response that may be sent before the request body was read completely. Reads and discards the rest of the body, for a
 * limited time. Closing the connection at once would reset it while the client still sends, and many clients read the
 * response only after they have sent everything.
 */
export const endAfterDrain = (res: ServerResponse, bytes: Buffer): void => {
  const { req, shouldKeepAlive } = res
  if (!isStillSending(req)) return void res.end(bytes)
  if (shouldKeepAlive) res.end(bytes)
  else {
    res.write(bytes)
    req.once('end', () => res.end())
  }
  // The handler no longer reads the body.
  req.unpipe()
  const timer = setTimeout(() => (shouldKeepAlive ? req.socket.destroy() : res.end()), DRAIN_TIMEOUT_MS)
  req.once('close', () => clearTimeout(timer)).resume()
}

/** Whether a body is still arriving. node:http sets `complete` late for requests without a body, so the headers are checked. */
export const isStillSending = ({ complete, headers }: IncomingMessage): boolean =>
  !complete && (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0)
