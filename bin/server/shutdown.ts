import type { Server, ServerResponse } from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import { print } from '../terminal.ts'

/** A client that connected or got a response less than this ago may already have sent its next request. */
const QUIET_MS = 300

/** How long connections that wait in the backlog are accepted at most, while more keep arriving. */
const ACCEPT_TIMEOUT_MS = 3000

/** How long clients may take to read their responses before their connections are cut. */
export const CLOSE_TIMEOUT_MS = 8000

/**
 * Tells the operator why the server does not end yet.
 * @param what is counted, in the singular
 */
export const noteWaiting = (count: number, what: string): void =>
  print(
    `stopping: waiting up to ${CLOSE_TIMEOUT_MS / 1000} s for ${count} ${what}${count === 1 ? '' : 's'}; Ctrl-C again stops at once`,
  )

/**
 * Prepares a server for a stop that loses no request: from the stop on every response closes its connection,
 * and a connection is not closed while a request may be on its way.
 * @param finish waits for the requests in flight
 * @returns stops the server
 */
export const gracefulShutdown = (server: Server, finish: () => Promise<void>): (() => Promise<void>) => {
  // The latest response of each connection, or undefined before the first.
  const connections = new Map<Socket, ServerResponse | undefined>()
  let [isStopping, activeAt] = [false, 0]
  server.prependListener('request', ({ socket }, res) => {
    connections.set(socket, res)
    if (isStopping) res.shouldKeepAlive = false
  })
  const noteActivity = () => {
    activeAt = performance.now()
  }
  for (const event of ['connection', 'secureConnection'])
    server.on(event, (socket: Socket) => {
      noteActivity()
      connections.set(socket, undefined)
      socket.once('close', () => connections.delete(socket))
    })
  const acceptBacklog = backlogOf(server)
  const countConnections = promisify(server.getConnections.bind(server))
  const waitUntilQuiet = async () => {
    while ((await countConnections()) > 0 && performance.now() - activeAt < QUIET_MS) await setTimeout(20)
  }

  // Not `closeAllConnections`, which leaves connections before the end of their TLS handshake open.
  const closeAll = () => {
    for (const socket of connections.keys()) socket.destroy()
  }

  return async () => {
    const timer = globalThis.setTimeout(closeAll, CLOSE_TIMEOUT_MS)
    isStopping = true
    // Any client may have got a response just now.
    noteActivity()
    for (const res of connections.values()) {
      if (res === undefined) continue
      res.shouldKeepAlive = false
      res.once('close', noteActivity)
    }
    await acceptBacklog()
    // `close` of node:http would also close idle connections, on which a request may be on its way.
    const closed = new Promise((resolve) => NetServer.prototype.close.call(server, resolve))
    await waitUntilQuiet()
    server.closeIdleConnections()
    const open = [...connections.values()].filter((res) => res?.closed === false)
    if (open.length > 0) noteWaiting(open.length, 'request')
    try {
      await finish()
    } finally {
      // All responses are sent: the connections that are still open have sent nothing, or half a request.
      closeAll()
      await closed
      clearTimeout(timer)
    }
  }
}

/** @returns accepts connections that wait in the backlog of the socket, which `close` would reset */
const backlogOf = (server: Server): (() => Promise<void>) => {
  let accepted = 0
  server.on('connection', () => void accepted++)
  return async () => {
    const startedAt = performance.now()
    for (let before = -1; before !== accepted && performance.now() - startedAt < ACCEPT_TIMEOUT_MS; ) {
      before = accepted
      // One turn of the event loop accepts one connection, and a later turn reads its request.
      for (let turn = 0; turn < 3; turn++) await setImmediate()
    }
  }
}
