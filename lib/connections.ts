import type { IncomingMessage, RequestListener, Server } from 'node:http'
import type { Socket } from 'node:net'
import { addressOf, addressOfSocket } from './accounts/client-address.ts'

export interface ConnectionLimits {
  /** Open connections of all clients together. */
  max: number
  /** Open connections of one address; behind proxies, which share all connections, unanswered requests of one address. */
  maxPerAddress: number
  /** Number of trusted reverse proxies. */
  proxies: number
}

/** Connections above the limit that get a 503; Node closes further ones without a response. */
const MAX_REFUSED = 100
const MAX_REFUSED_PER_ADDRESS = 20
/** Milliseconds in which a refused client must have read the 503. */
const REFUSAL_TIMEOUT_MS = 1000
const HEADERS = ['Connection', 'close', 'Retry-After', '1', 'Content-Length', '0']
const REFUSAL =
  'HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n'

/** Counts by key; a key whose count is 0 takes no memory. */
const createCounts = () => {
  const counts = new Map<string, number>()
  const change = (key: string, by: number) => {
    const count = (counts.get(key) ?? 0) + by
    if (count === 0) counts.delete(key)
    else counts.set(key, count)
  }
  return {
    of: (key: string) => counts.get(key) ?? 0,
    add: (key: string) => change(key, 1),
    remove: (key: string) => change(key, -1),
  }
}

/**
 * Limits the open connections, of all clients and of each address. Replaces Node's own listener, so that no request of a
 * refused connection is handled. Invariant: one address never holds more than its share.
 */
export const limitConnections = (server: Server, { max, maxPerAddress, proxies }: ConnectionLimits): void => {
  const listeners = server.listeners('connection') as ((socket: Socket) => void)[]
  server.removeAllListeners('connection')
  server.maxConnections = max + MAX_REFUSED
  const [open, refused] = [createCounts(), createCounts()]
  let total = 0
  server.on('connection', (socket) => {
    const address = addressOfSocket(socket)
    const isSurplus = total >= max || (proxies === 0 && open.of(address) >= maxPerAddress)
    if (isSurplus && refused.of(address) >= MAX_REFUSED_PER_ADDRESS) return void socket.destroy()
    const counts = isSurplus ? refused : open
    counts.add(address)
    if (!isSurplus) total++
    socket.once('close', () => {
      counts.remove(address)
      if (!isSurplus) total--
    })
    if (isSurplus) return refuse(socket)
    for (const listener of listeners) listener.call(server, socket)
  })
}

/** Limits the unanswered requests of each address, behind proxies. */
export const limitRequests = (
  listener: RequestListener,
  { maxPerAddress, proxies }: ConnectionLimits,
): RequestListener => {
  if (proxies === 0) return listener
  const open = createCounts()
  return (req: IncomingMessage, res) => {
    const address = addressOf(req, proxies)
    if (open.of(address) >= maxPerAddress) return void res.writeHead(503, HEADERS).end()
    open.add(address)
    res.once('close', () => open.remove(address))
    listener(req, res)
  }
}

/** Reads what the client has sent until it has the response: closing at once would reset the connection. */
const refuse = (socket: Socket): void => {
  const timer = setTimeout(() => socket.destroy(), REFUSAL_TIMEOUT_MS)
  socket
    .on('error', () => undefined)
    .once('end', () => socket.destroy())
    .once('close', () => clearTimeout(timer))
    .resume()
    .end(REFUSAL)
}
