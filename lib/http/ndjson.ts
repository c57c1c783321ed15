import type { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { ClientDisconnected } from './failure.ts'
import type { Produce } from './responses.ts'

const HEADERS = [
  ...['X-Content-Type-Options', 'nosniff'],
  ...['Cache-Control', 'no-store'],
  ...['Content-Type', 'application/x-ndjson'],
]

/** Sends an answer as it is made, no faster than the client reads it. What fails before its first byte can still be said. */
export const sendStream = async (
  req: IncomingMessage,
  res: ServerResponse,
  status: number,
  produce: Produce,
): Promise<void> => {
  const begin = () => res.headersSent || res.writeHead(status, HEADERS)
  const timeouts = patienceOf(res)
  if (req.method !== 'HEAD') {
    timeouts.withOurselves()
    await produce(async (bytes) => {
      if (res.destroyed) throw gone()
      begin()
      if (res.write(bytes)) return
      timeouts.withClient()
      await drained(res)
      timeouts.withOurselves()
    })
    timeouts.withClient()
  }
  begin()
  res.end()
}

/** The server's limit for idle connections is one for clients that do not read: what takes long to make is no such thing. */
const patienceOf = ({ socket }: ServerResponse) => {
  const limit = socket instanceof Socket ? (socket.timeout ?? 0) : 0
  const set = (milliseconds: number) => {
    if (limit > 0) socket!.setTimeout(milliseconds)
  }
  return { withClient: () => set(limit), withOurselves: () => set(0) }
}

const drained = (res: ServerResponse): Promise<void> =>
  new Promise((resolve, reject) => {
    const end = (settle: () => void) => () => {
      res.off('drain', onDrain).off('close', onClose)
      settle()
    }
    const onDrain = end(resolve)
    const onClose = end(() => reject(gone()))
    res.once('drain', onDrain).once('close', onClose)
  })

const gone = () => new ClientDisconnected('the client went away before its answer was whole')
