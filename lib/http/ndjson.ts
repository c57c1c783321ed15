import type { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { ClientDisconnected } from './failure.ts'
import type { Produce } from './responses.ts'

const HEADERS = [
  ...['X-Content-Type-Options', 'nosniff'],
  ...['Cache-Control', 'no-store'],
  ...['Content-Type', 'application/x-ndjson'],
]

/**
 * Sends lines as they are produced, no faster than the client reads them. The status is sent with the first bytes, so an
 * error before that still gets an error response.
 */
export const sendStream = async (
  req: IncomingMessage,
  res: ServerResponse,
  status: number,
  produce: Produce,
): Promise<void> => {
  const begin = () => res.headersSent || res.writeHead(status, HEADERS)
  const idleTimeout = idleTimeoutOf(res)
  if (req.method !== 'HEAD') {
    idleTimeout.pause()
    await produce(async (bytes) => {
      if (res.destroyed) throw disconnected()
      begin()
      if (res.write(bytes)) return
      idleTimeout.resume()
      await drained(res)
      idleTimeout.pause()
    })
    idleTimeout.resume()
  }
  begin()
  res.end()
}

/** Idle timeout of the connection: it must cut off clients that do not read, and not a producer that takes long. */
const idleTimeoutOf = ({ socket }: ServerResponse) => {
  const limit = socket instanceof Socket ? (socket.timeout ?? 0) : 0
  const set = (milliseconds: number) => {
    if (limit > 0) socket!.setTimeout(milliseconds)
  }
  return { pause: () => set(0), resume: () => set(limit) }
}

const drained = (res: ServerResponse): Promise<void> =>
  new Promise((resolve, reject) => {
    const end = (settle: () => void) => () => {
      res.off('drain', onDrain).off('close', onClose)
      settle()
    }
    const onDrain = end(resolve)
    const onClose = end(() => reject(disconnected()))
    res.once('drain', onDrain).once('close', onClose)
  })

const disconnected = () => new ClientDisconnected('the client disconnected before the response was complete')
