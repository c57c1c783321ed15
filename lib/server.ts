import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import * as v from 'valibot'
import { type ConnectionLimits, limitConnections, limitRequests } from './connections.ts'
import { isStillSending } from './http/connection/drain.ts'
import { count, HOUR, milliseconds, Size } from './option-types.ts'
import { checked } from './options.ts'

/** Limits on the resources that clients can use. Times are milliseconds, sizes are bytes. */
export const ServerLimits = v.strictObject({
  maxHeaderSize: v.pipe(
    v.optional(v.pipe(Size, v.minValue(1024), v.maxValue(1024 * 1024)), 16 * 1024),
    v.description('The largest request line and headers together: bytes, or `"16 KiB"`. More is 431.'),
  ),
  maxHeaders: v.pipe(
    v.optional(count(2000), 100),
    v.description('The most header lines of a request. More is 431.'),
  ),
  headersTimeout: v.pipe(
    milliseconds(HOUR, 10_000),
    v.description('Milliseconds in which the headers of a request must have arrived; then 408.'),
  ),
  requestTimeout: v.pipe(
    milliseconds(HOUR, 60_000),
    v.description(
      'The same for a request with its body; a larger body has a second more for each `bodyRate`.',
    ),
  ),
  bodyRate: v.pipe(
    v.optional(v.pipe(Size, v.minValue(1)), 1024),
    v.description(
      'Bytes a second that a body must come with when it takes longer: a push may be large, not slow.',
    ),
  ),
  bodyIdleTimeout: v.pipe(
    milliseconds(HOUR, 15_000),
    v.description('Milliseconds for which a body that the server waits for may bring nothing; then 408.'),
  ),
  idleTimeout: v.pipe(
    milliseconds(HOUR, 60_000),
    v.description(
      'Milliseconds after which a connection on which nothing moves is cut, in either direction.',
    ),
  ),
  keepAliveTimeout: v.pipe(
    milliseconds(HOUR, 5_000),
    v.description('Milliseconds that a connection is kept open for the next request.'),
  ),
  maxConnections: v.pipe(
    v.optional(count(1_000_000), 1000),
    v.description('The most open connections. More are told 503 and closed.'),
  ),
  maxConnectionsPerAddress: v.pipe(
    v.optional(count(1_000_000)),
    v.description(
      'The same of one address (of IPv6: one /64); a quarter of all when absent. Behind proxies it bounds the requests of an address that are not answered yet.',
    ),
  ),
})
export type ServerLimits = v.InferInput<typeof ServerLimits> & {
  /** Number of trusted reverse proxies, as in the options of `createAllot`. */
  trustedProxies?: number
}

const CheckedLimits = v.strictObject({ ...ServerLimits.entries, trustedProxies: v.optional(v.number(), 0) })

/**
 * Creates a node:http server with limits on its clients, for hosts that have no server of their own.
 * @throws AllotError invalid that names every unknown or wrong limit
 */
export const createLimitedServer = (listener: RequestListener, options: ServerLimits = {}): Server => {
  const limits = checked(CheckedLimits, options)
  const { requestTimeout } = limits
  const connections = connectionLimits(limits)
  const headersTimeout = Math.min(limits.headersTimeout, requestTimeout)
  const server = createServer(
    {
      maxHeaderSize: limits.maxHeaderSize,
      keepAliveTimeout: limits.keepAliveTimeout,
      headersTimeout,
      // Node has one timeout for bodies of any size; `watchBodies` replaces it.
      requestTimeout: 0,
      // Node checks every 30 seconds by default, later than these timeouts.
      connectionsCheckingInterval: Math.min(1000, Math.ceil(headersTimeout / 4)),
    },
    limitHeaders(limitRequests(watchBodies(listener, limits), connections), limits.maxHeaders),
  )
  // One more than the limit: Node silently drops further headers, which may include Authorization.
  server.maxHeadersCount = limits.maxHeaders + 1
  server.setTimeout(limits.idleTimeout)
  limitConnections(server, connections)
  return server
}

const connectionLimits = (limits: v.InferOutput<typeof CheckedLimits>): ConnectionLimits => ({
  max: limits.maxConnections,
  maxPerAddress: limits.maxConnectionsPerAddress ?? Math.ceil(limits.maxConnections / 4),
  proxies: limits.trustedProxies,
})

/** Responds with 431 to requests with too many header lines. */
const limitHeaders =
  (listener: RequestListener, maxHeaders: number): RequestListener =>
  (req, res) => {
    if (req.rawHeaders.length <= 2 * maxHeaders) return listener(req, res)
    res.writeHead(431, { connection: 'close', 'content-length': 0 }).end()
  }

interface BodyLimits {
  requestTimeout: number
  bodyRate: number
  bodyIdleTimeout: number
}

const watchBodies =
  (listener: RequestListener, limits: BodyLimits): RequestListener =>
  (req, res) => {
    if (isStillSending(req)) watchBody(req, res, limits)
    listener(req, res)
  }

/** Checks at intervals that a body still arrives, and fast enough, without work for each chunk. */
const watchBody = (
  req: IncomingMessage,
  res: ServerResponse,
  { requestTimeout, bodyRate, bodyIdleTimeout }: BodyLimits,
): void => {
  const { socket } = req
  const [startedAt, bytesAtStart] = [performance.now(), socket.bytesRead]
  let [lastBytes, progressAt] = [bytesAtStart, startedAt]
  const check = () => {
    const [now, bytes] = [performance.now(), socket.bytesRead]
    if (bytes !== lastBytes || isFull(req)) [lastBytes, progressAt] = [bytes, now]
    const untilTooSlow = startedAt + requestTimeout + ((bytes - bytesAtStart) * 1000) / bodyRate - now
    const left = Math.min(untilTooSlow, progressAt + bodyIdleTimeout - now)
    if (left > 0) timer = setTimeout(check, Math.min(left, bodyIdleTimeout / 4))
    else if (!req.complete) timeOut(req, res)
  }
  let timer = setTimeout(check, Math.min(requestTimeout, bodyIdleTimeout / 4))
  req.once('close', () => clearTimeout(timer))
}

/** Whether the server's buffer is full, so that the client has to wait. */
const isFull = (req: IncomingMessage): boolean => req.readableLength >= req.readableHighWaterMark

/** Responds with 408 as Node does, and closes the connection. */
const timeOut = ({ socket }: IncomingMessage, res: ServerResponse): void => {
  if (!res.headersSent && res.socket === socket)
    socket.write('HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n')
  socket.destroy()
}
