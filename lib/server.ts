import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import { createServer as createHttpsServer, type Server as HttpsServer } from 'node:https'
import type { Socket } from 'node:net'
import type { SecureContextOptions } from 'node:tls'
import * as v from 'valibot'
import { addressOf, addressOfSocket, Counts } from './clients.ts'
import { HOUR_MS } from './clock.ts'
import { isStillSending } from './http/drain.ts'
import { answerParserError, refusalBody, refusalHeaders, refusalText } from './http/refusals.ts'
import { refuseAmbiguous } from './http/smuggling.ts'
import { checked, count, milliseconds, Size, trustedProxies } from './options/checks.ts'

/** Limits on the resources that clients can use. Times are milliseconds, sizes are bytes. */
export const ServerLimits = v.strictObject({
  /**
   * Maximum size of the request line and headers together: bytes, or `"16 KiB"`. Larger requests get 431.
   * Default: `16384`.
   */
  maxHeaderSize: v.optional(v.pipe(Size, v.minValue(1024), v.maxValue(1024 * 1024)), 16 * 1024),
  /** Maximum number of header lines of a request. Requests with more get 431. Default: `100`. */
  maxHeaders: v.optional(count(2000), 100),
  /**
   * Milliseconds in which the headers of a request must arrive. Slower requests get 408. Default: `10000`.
   */
  headersTimeout: milliseconds(HOUR_MS, 10_000),
  /**
   * Milliseconds in which a request with its body must arrive, plus the time that the body takes at its
   * minimum speed. Slower requests get 408. Default: `60000`.
   */
  requestTimeout: milliseconds(HOUR_MS, 60_000),
  /**
   * Minimum speed of a body in bytes per second, once the time for a request has passed: a push may be large,
   * but not slow. Default: `1024`.
   */
  bodyRate: v.optional(v.pipe(Size, v.minValue(1)), 1024),
  /**
   * Milliseconds without a byte after which the server stops waiting for a body and responds with 408.
   * Default: `15000`.
   */
  bodyIdleTimeout: milliseconds(HOUR_MS, 15_000),
  /**
   * Milliseconds without traffic in either direction after which a connection is closed. Default: `60000`.
   */
  idleTimeout: milliseconds(HOUR_MS, 60_000),
  /** Milliseconds for which an idle connection stays open for the next request. Default: `5000`. */
  keepAliveTimeout: milliseconds(HOUR_MS, 5_000),
  /** Maximum number of open connections. Further connections get 503 and are closed. Default: `1000`. */
  maxConnections: v.optional(count(1_000_000), 1000),
  /**
   * Maximum number of open connections of one address (for IPv6: of one /64); a quarter of all connections
   * when absent. Behind proxies, the maximum number of unanswered requests of one address.
   */
  maxConnectionsPerAddress: v.optional(count(1_000_000)),
})
/** Limits on the resources that clients of a server can use. Sizes are bytes, times are milliseconds. */
export type LimitOptions = v.InferInput<typeof ServerLimits>
export type ServerLimits = LimitOptions & {
  /** Number of trusted reverse proxies, as in the options of `createAllot`. */
  trustedProxies?: number
}

interface HttpsOptions {
  /**
   * Certificate and key of an https server, as node:tls takes them; `setSecureContext` of the server replaces
   * them.
   */
  tls: SecureContextOptions
}

const CheckedLimits = v.strictObject({ ...ServerLimits.entries, trustedProxies })
type CheckedLimits = v.InferOutput<typeof CheckedLimits>

/**
 * Creates a node:http server with limits on its clients, for hosts that have no server of their own.
 * @throws AllotError invalid that names every unknown or wrong limit
 */
export function createLimitedServer(
  listener: RequestListener,
  options: ServerLimits & HttpsOptions,
): HttpsServer
export function createLimitedServer(
  listener: RequestListener,
  options?: ServerLimits & { [K in keyof HttpsOptions]?: HttpsOptions[K] | undefined },
): Server
export function createLimitedServer(
  listener: RequestListener,
  { tls, ...options }: ServerLimits & { tls?: SecureContextOptions | undefined } = {},
): Server {
  const limits = checked(CheckedLimits, options)
  const headersTimeout = Math.min(limits.headersTimeout, limits.requestTimeout)
  const settings = {
    maxHeaderSize: limits.maxHeaderSize,
    keepAliveTimeout: limits.keepAliveTimeout,
    headersTimeout,
    // Node has one timeout for bodies of any size; `watchBody` replaces it.
    requestTimeout: 0,
    // Node checks every 30 seconds by default, later than these timeouts.
    connectionsCheckingInterval: Math.min(1000, Math.ceil(headersTimeout / 4)),
  }
  const limited = limitRequests(listener, limits)
  const server =
    tls === undefined
      ? createServer(settings, limited)
      : createHttpsServer({ ...tls, ...settings, handshakeTimeout: headersTimeout }, limited)
  server.on('clientError', answerParserError)
  // One more than the limit: Node silently drops further headers, which may include Authorization.
  server.maxHeadersCount = limits.maxHeaders + 1
  server.setTimeout(limits.idleTimeout)
  server.maxConnections = limits.maxConnections + MAX_REFUSED
  if (tls === undefined) limitConnections(server, 'connection', limits)
  else {
    limitHandshakes(server, limits)
    limitConnections(server, 'secureConnection', limits)
  }
  return server
}

/**
 * Connections of one address; behind proxies, which share all connections, unanswered requests of one
 * address.
 */
const maxPerAddress = ({ maxConnections, maxConnectionsPerAddress }: CheckedLimits): number =>
  maxConnectionsPerAddress ?? Math.ceil(maxConnections / 4)

/**
 * Limits the headers and the speed of requests, and behind proxies the unanswered requests of each address.
 */
const limitRequests = (listener: RequestListener, limits: CheckedLimits): RequestListener => {
  const { maxHeaders, trustedProxies } = limits
  const max = maxPerAddress(limits)
  const unanswered = new Counts()
  return (req, res) => {
    if (refuseAmbiguous(req, res)) return
    if (req.rawHeaders.length > 2 * maxHeaders)
      return void res.writeHead(431, refusalHeaders(431)).end(refusalBody(431))
    if (trustedProxies > 0) {
      const address = addressOf(req, trustedProxies)
      if (unanswered.of(address) >= max)
        return void res.writeHead(503, refusalHeaders(503)).end(refusalBody(503))
      unanswered.addUntilClosed(address, res)
    }
    if (isStillSending(req)) watchBody(req, res, limits)
    listener(req, res)
  }
}

/** Checks at intervals that a body still arrives, and fast enough, without work for each chunk. */
const watchBody = (
  req: IncomingMessage,
  res: ServerResponse,
  { requestTimeout, bodyRate, bodyIdleTimeout }: CheckedLimits,
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
  if (!res.headersSent && res.socket === socket) socket.write(refusalText(408))
  socket.destroy()
}

/** Connections above the limit that get a 503; Node closes further ones without a response. */
const MAX_REFUSED = 100
const MAX_REFUSED_PER_ADDRESS = 20
/** Milliseconds in which a refused client must have read the 503. */
const REFUSAL_TIMEOUT_MS = 1000

/** `secureConnection` is a connection after its TLS handshake. */
type ConnectionEvent = 'connection' | 'secureConnection'

/** Replaces Node's own listeners, so that nothing of a connection is handled that isn't admitted. */
const admitConnections = (
  server: Server,
  event: ConnectionEvent,
  admits: (socket: Socket) => boolean,
): void => {
  const listeners = server.listeners(event) as ((socket: Socket) => void)[]
  server.removeAllListeners(event)
  server.on(event, (socket: Socket) => {
    if (admits(socket)) for (const listener of listeners) listener.call(server, socket)
  })
}

/**
 * Limits the open connections, of all clients and of each address. Invariant: one address never holds more
 * than its share.
 */
const limitConnections = (server: Server, event: ConnectionEvent, limits: CheckedLimits): void => {
  const { maxConnections, trustedProxies } = limits
  const max = maxPerAddress(limits)
  const [open, refused] = [new Counts(), new Counts()]
  admitConnections(server, event, (socket) => {
    const address = addressOfSocket(socket)
    const isRefused = open.total >= maxConnections || (trustedProxies === 0 && open.of(address) >= max)
    if (isRefused && refused.of(address) >= MAX_REFUSED_PER_ADDRESS) return destroyed(socket)
    const counts = isRefused ? refused : open
    counts.addUntilClosed(address, socket)
    if (isRefused) refuse(socket)
    return !isRefused
  })
}

/**
 * A 503 takes a handshake, so connections of an address that are far above its share are closed before it.
 */
const limitHandshakes = (server: Server, limits: CheckedLimits): void => {
  const max = maxPerAddress(limits) + MAX_REFUSED_PER_ADDRESS
  const open = new Counts()
  admitConnections(server, 'connection', (socket) => {
    const address = addressOfSocket(socket)
    if (limits.trustedProxies === 0 && open.of(address) >= max) return destroyed(socket)
    open.addUntilClosed(address, socket)
    return true
  })
}

/** @returns false: the connection is not admitted */
const destroyed = (socket: Socket): false => {
  socket.destroy()
  return false
}

/** Reads what the client has sent until it has the response: closing at once would reset the connection. */
const refuse = (socket: Socket): void => {
  const timer = setTimeout(() => socket.destroy(), REFUSAL_TIMEOUT_MS)
  socket
    .on('error', () => undefined)
    .once('end', () => socket.destroy())
    .once('close', () => clearTimeout(timer))
    .resume()
    .end(refusalText(503))
}
