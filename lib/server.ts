import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { Socket } from 'node:net'
import * as v from 'valibot'
import { isStillSending } from './http/linger.ts'
import { checked, count, milliseconds, Size } from './options.ts'

const HOUR = 60 * 60_000

/** What a server puts up with from its clients. Times are milliseconds. */
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
})
export type ServerLimits = v.InferInput<typeof ServerLimits>

/**
 * A node:http server that bounds what a client can take of it: for hosts that have no server of their own.
 * @throws AllotError invalid for an unknown or wrong limit.
 */
export const createLimitedServer = (listener: RequestListener, given: ServerLimits = {}): Server => {
  const limits = checked(ServerLimits, given)
  const { requestTimeout } = limits
  const headersTimeout = Math.min(limits.headersTimeout, requestTimeout)
  const server = createServer(
    {
      maxHeaderSize: limits.maxHeaderSize,
      keepAliveTimeout: limits.keepAliveTimeout,
      headersTimeout,
      // Node knows but one time for bodies of any size: they are watched below.
      requestTimeout: 0,
      // Node looks every 30 seconds otherwise, and the times above would mean little.
      connectionsCheckingInterval: Math.min(1000, Math.ceil(headersTimeout / 4)),
    },
    boundHeaders(watchBodies(listener, requestTimeout, limits.bodyRate), limits.maxHeaders),
  )
  // One more than is taken: node drops what is over without a word, be it the Authorization header.
  server.maxHeadersCount = limits.maxHeaders + 1
  server.setTimeout(limits.idleTimeout)
  refuseSurplus(server, limits.maxConnections)
  return server
}

const boundHeaders =
  (listener: RequestListener, most: number): RequestListener =>
  (req, res) => {
    if (req.rawHeaders.length <= 2 * most) return listener(req, res)
    res.writeHead(431, { connection: 'close', 'content-length': 0 }).end()
  }

const watchBodies =
  (listener: RequestListener, time: number, rate: number): RequestListener =>
  (req, res) => {
    if (isStillSending(req)) watchBody(req, res, time, rate / 1000)
    listener(req, res)
  }

/** @param rate bytes a millisecond */
const watchBody = (req: IncomingMessage, res: ServerResponse, time: number, rate: number): void => {
  const { socket } = req
  const [begun, before] = [performance.now(), socket.bytesRead]
  const look = () => {
    const left = begun + time + (socket.bytesRead - before) / rate - performance.now()
    if (left > 0) timer = setTimeout(look, left)
    else if (!req.complete) giveUp(req, res)
  }
  let timer = setTimeout(look, time)
  req.once('close', () => clearTimeout(timer))
}

/** What node itself does with a request that takes too long. */
const giveUp = ({ socket }: IncomingMessage, res: ServerResponse): void => {
  if (!res.headersSent && res.socket === socket)
    socket.write('HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n')
  socket.destroy()
}

/** So many connections may be busy with being refused; node closes what comes then without an answer. */
const SPARE = 100
const FAREWELL = 1000
const REFUSAL =
  'HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n'

/** In the place of node's own listener, so that no request of a connection that is refused is ever carried out. */
const refuseSurplus = (server: Server, most: number): void => {
  const serve = server.listeners('connection') as ((socket: Socket) => void)[]
  server.removeAllListeners('connection')
  server.maxConnections = most + SPARE
  let open = 0
  server.on('connection', (socket) => {
    if (open >= most) return refuse(socket)
    open++
    socket.once('close', () => open--)
    for (const one of serve) one.call(server, socket)
  })
}

/** What the client has sent is read until it has the answer: to close at once would reset the connection under it. */
const refuse = (socket: Socket): void => {
  const timer = setTimeout(() => socket.destroy(), FAREWELL)
  socket
    .on('error', () => undefined)
    .once('end', () => socket.destroy())
    .once('close', () => clearTimeout(timer))
    .resume()
    .end(REFUSAL)
}
