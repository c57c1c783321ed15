/**
 * Request bodies that are not read completely: whether one is still arriving, and how a response ends then.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'

/** Milliseconds that a client has to finish a request that already has its response. */
const DRAIN_TIMEOUT_MS = 3000

/**
 * Ends a response that may be sent before the request body was read completely. Reads and discards the rest
 * of the body, for a limited time. Closing the connection at once would reset it while the client still
 * sends, and many clients read the response only after they have sent everything.
 * @param size bytes of the body
 */
export const endAfterDrain = (res: ServerResponse, body: Buffer | string, size: number): void => {
  const { req, shouldKeepAlive } = res
  // node:http writes text in one string with the headers, which are Latin-1: so only ASCII is passed as text.
  const content = typeof body !== 'string' || size === body.length ? body : Buffer.from(body)
  if (!isStillSending(req)) return endInOneWrite(res, content)
  if (shouldKeepAlive) res.end(content, 'latin1')
  else {
    res.write(content, 'latin1')
    req.once('end', () => res.end())
  }
  // The handler no longer reads the body.
  req.unpipe()
  // A request that a host injects has no socket that can be destroyed.
  const timer = setTimeout(() => (shouldKeepAlive ? req.destroy() : res.end()), DRAIN_TIMEOUT_MS)
  req.once('close', () => clearTimeout(timer)).resume()
}

/**
 * Ends a response with one write to the socket. `end(text)` makes node:http pass the headers with the text
 * and an empty end as two pieces, which takes a tenth more processor time for a small response.
 */
const endInOneWrite = (res: ServerResponse, content: Buffer | string): void => {
  const { socket, req } = res
  const isText = typeof content === 'string' && content !== '' && req.method !== 'HEAD'
  if (!isText || !(socket instanceof Socket)) return void res.end(content, 'latin1')
  // While the socket is corked, node:http does not defer the write.
  socket.cork()
  res.write(content, 'latin1')
  socket.uncork()
  res.end()
}

/**
 * Whether a body is still arriving. node:http sets `complete` late for requests without a body, so the
 * headers are checked.
 */
export const isStillSending = (req: IncomingMessage): boolean => !req.complete && hasBody(req)

/** Whether the headers of a request declare a body. */
export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
