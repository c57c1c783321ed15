import type { IncomingMessage, RequestListener, Server } from 'node:http'
import type { Socket } from 'node:net'
import { addressOf, addressOfSocket } from './accounts/client-address.ts'

export interface ConnectionLimits {
  /** Of all clients together. */
  most: number
  /** Of one address. Behind proxies, which have all connections, it bounds the requests that are not answered yet. */
  perAddress: number
  /** How many reverse proxies stand in front. */
  proxies: number
}

/** So many connections may be busy with being refused; node closes what comes then without an answer. */
const SPARE = 100
/** How many of them may be those of one address. */
const SPARE_PER_ADDRESS = 20
const FAREWELL = 1000
const HEADERS = ['Connection', 'close', 'Retry-After', '1', 'Content-Length', '0']
const REFUSAL =
  'HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n'

/** How many there are of each key; keys without any are forgotten. */
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
 * Bounds the open connections, of all clients and of each address, in the place of node's own listener, so that no request
 * of a connection that is refused is ever carried out. Invariant: one address never holds more than its share.
 */
export const limitConnections = (server: Server, { most, perAddress, proxies }: ConnectionLimits): void => {
  const serve = server.listeners('connection') as ((socket: Socket) => void)[]
  server.removeAllListeners('connection')
  server.maxConnections = most + SPARE
  const [open, refused] = [createCounts(), createCounts()]
  let total = 0
  server.on('connection', (socket) => {
    const address = addressOfSocket(socket)
    const isSurplus = total >= most || (proxies === 0 && open.of(address) >= perAddress)
    if (isSurplus && refused.of(address) >= SPARE_PER_ADDRESS) return void socket.destroy()
    const counts = isSurplus ? refused : open
    counts.add(address)
    if (!isSurplus) total++
    socket.once('close', () => {
      counts.remove(address)
      if (!isSurplus) total--
    })
    if (isSurplus) return refuse(socket)
    for (const one of serve) one.call(server, socket)
  })
}

/** Behind proxies, bounds the requests of each address that are not answered yet. */
export const limitRequests = (
  listener: RequestListener,
  { perAddress, proxies }: ConnectionLimits,
): RequestListener => {
  if (proxies === 0) return listener
  const open = createCounts()
  return (req: IncomingMessage, res) => {
    const address = addressOf(req, proxies)
    if (open.of(address) >= perAddress) return void res.writeHead(503, HEADERS).end()
    open.add(address)
    res.once('close', () => open.remove(address))
    listener(req, res)
  }
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
