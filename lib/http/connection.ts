import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { AllotError } from '../errors.ts'

/** Everything that concerns the socket of a request: pipelining, responses in flight, unread bodies, request smuggling. */

/** Requests of one connection, of which one at a time is handled. */
interface RequestQueue {
  /** The request that is handled now. */
  current: IncomingMessage | undefined
  readonly waiting: Waiting[]
}

interface Waiting {
  readonly req: IncomingMessage
  begin(): void
}

/** Waiting requests of one connection; a connection with more is closed. */
const MAX_WAITING = 256

const queues = new WeakMap<Socket, RequestQueue>()

/**
 * Handles pipelined requests of a connection one after another, each after the response before it has ended. Otherwise a
 * client that never reads could fill the memory with responses by a few kilobytes of requests. A request that one listener has
 * passed on to another is already the current one, and begins at once.
 * @param begin tracks the response by {@link trackInFlight}, which begins the next request at its end
 */
export const inRequestOrder = (req: IncomingMessage, begin: () => void): void => {
  // HTTP/2 multiplexes requests, and its flow control limits them.
  if (req.httpVersionMajor > 1) return begin()
  let queue = queues.get(req.socket)
  if (queue === undefined) {
    queue = { current: undefined, waiting: [] }
    queues.set(req.socket, queue)
  }
  if (queue.current === undefined || queue.current === req) start(queue, { req, begin })
  else if (queue.waiting.length < MAX_WAITING) queue.waiting.push({ req, begin })
  else req.socket.destroy()
}

const start = (queue: RequestQueue, next: Waiting): void => {
  queue.current = next.req
  next.begin()
}

const startNext = ({ req, shouldKeepAlive }: ServerResponse): void => {
  const { socket } = req
  const queue = queues.get(socket)
  // A request that was passed on ends for each listener that tracks it, and only the first end counts.
  if (queue?.current !== req) return
  queue.current = undefined
  // No further response can be sent on a connection that closes, so its waiting requests must not change anything.
  if (!shouldKeepAlive || socket.destroyed) queue.waiting.length = 0
  const next = queue.waiting.shift()
  if (next !== undefined) start(queue, next)
}

/** Tracks responses that have not ended, so that a server can wait for them before it stops. */
export const trackInFlight = () => {
  const inFlight = new Set<ServerResponse>()
  // One listener for all responses: creating a closure for each one is measurably slower.
  function ended(this: ServerResponse): void {
    inFlight.delete(this)
    startNext(this)
  }
  return {
    begin(res: ServerResponse) {
      inFlight.add(res)
      res.on('close', ended)
    },
    /** Waits for the present responses only: with later ones it might never end. */
    async idle(): Promise<void> {
      await Promise.all([...inFlight].map((res) => once(res, 'close')))
    },
  }
}

/** Milliseconds that a client has to finish a request that already has its response. */
const DRAIN_TIMEOUT_MS = 3000

/**
 * Ends a response that may be sent before the request body was read completely. Reads and discards the rest of the body, for a
 * limited time. Closing the connection at once would reset it while the client still sends, and many clients read the
 * response only after they have sent everything.
 */
export const endAfterDrain = (res: ServerResponse, body: Buffer | string): void => {
  const { req, shouldKeepAlive } = res
  // node:http writes text in one string with the headers, which are Latin-1: so only ASCII is passed as text.
  const content = typeof body !== 'string' || isAscii(body) ? body : Buffer.from(body)
  if (!isStillSending(req)) return endInOneWrite(res, content)
  if (shouldKeepAlive) res.end(content, 'latin1')
  else {
    res.write(content, 'latin1')
    req.once('end', () => res.end())
  }
  // The handler no longer reads the body.
  req.unpipe()
  const timer = setTimeout(() => (shouldKeepAlive ? req.socket.destroy() : res.end()), DRAIN_TIMEOUT_MS)
  req.once('close', () => clearTimeout(timer)).resume()
}

/**
 * Ends a response with one write to the socket. `end(text)` makes node:http pass the headers with the text and an empty end as two
 * pieces, which takes a tenth more processor time for a small response.
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

const isAscii = (text: string): boolean => Buffer.byteLength(text) === text.length

/**
 * Whether a body is still arriving. node:http sets `complete` late for requests without a body, so the headers are checked.
 */
export const isStillSending = (req: IncomingMessage): boolean => !req.complete && hasBody(req)

/** Whether the headers of a request declare a body. */
export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

/**
 * Finds requests that a proxy in front may have split differently (request smuggling) and that node:http accepts. The
 * connection must be closed after such a request.
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
  // RFC 9112 §3.2: "A server MUST respond with a 400 … to any request message that contains more than one Host".
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
