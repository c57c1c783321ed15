import type { Server, ServerResponse } from 'node:http'
import { Server as Listener } from 'node:net'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'

/** A client that was answered less than these milliseconds ago may have its next request on its way. */
const BUSY = 300

/** For so many milliseconds at most new connections are taken, while there is one more each time. */
const CROWD = 3000

/** What a client may still take to read its answer once the server is told to stop. */
const TIMEOUTS = 8000

/**
 * Lets clients go one by one: whoever is answered from now on is told that it was the last time, and connections on
 * which a request may be on its way are not closed under it.
 * @param finish waits for what is in flight.
 * @returns stops the server. Whoever never reads its answer is cut off.
 */
export const gracefulShutdown = (server: Server, finish: () => Promise<void>): (() => Promise<void>) => {
  const answers = new Set<ServerResponse>()
  let [isLast, answeredAt] = [false, 0]
  server.prependListener('request', (_, res) => {
    answers.add(res)
    if (isLast) res.shouldKeepAlive = false
    res.once('close', () => {
      answers.delete(res)
      answeredAt = performance.now()
    })
  })
  let taken = 0
  server.on('connection', () => void taken++)
  /** One connection is taken in a turn of the event loop, and its request is read in a later one. */
  const takeWaiting = async () => {
    const begun = performance.now()
    for (let before = -1; before !== taken && performance.now() - begun < CROWD; ) {
      before = taken
      for (let turns = 0; turns < 3; turns++) await setImmediate()
    }
  }
  const open = promisify(server.getConnections.bind(server))
  const quiet = async () => {
    while ((await open()) > 0 && performance.now() - answeredAt < BUSY) await setTimeout(20)
  }

  return async () => {
    const cutOff = globalThis.setTimeout(() => server.closeAllConnections(), TIMEOUTS)
    isLast = true
    for (const res of answers) res.shouldKeepAlive = false
    await takeWaiting()
    // That of node:http would close the idle connections, too.
    const closed = new Promise((resolve) => Listener.prototype.close.call(server, resolve))
    await quiet()
    server.closeIdleConnections()
    await finish()
    // Every answer is out: what is still open has sent nothing, or half a request.
    server.closeAllConnections()
    await closed
    clearTimeout(cutOff)
  }
}
