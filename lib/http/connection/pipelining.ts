import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

interface Turn {
  readonly res: ServerResponse
  readonly begin: () => void
}

/** Requests of one connection, of which one is being answered. */
interface Line {
  busy: boolean
  readonly waiting: Turn[]
}

/** Nobody who reads the answers needs to send so many requests ahead of them. */
const LONGEST_LINE = 256

const lines = new WeakMap<Socket, Line>()

/**
 * Requests that a client sends without waiting for answers (pipelining) are handled one after another, each when the
 * answer before it is out. Otherwise a few kilobytes of requests from a client that never reads would pile up as many
 * answers as there are requests.
 */
export const inPipelineOrder = (req: IncomingMessage, res: ServerResponse, begin: () => void): void => {
  // Streams of HTTP/2 share a connection, and are bounded by its flow control.
  if (req.httpVersionMajor > 1) return begin()
  let line = lines.get(req.socket)
  if (line === undefined) {
    line = { busy: false, waiting: [] }
    lines.set(req.socket, line)
  }
  if (!line.busy) take(line, { res, begin })
  else if (line.waiting.length < LONGEST_LINE) line.waiting.push({ res, begin })
  else req.socket.destroy()
}

const take = (line: Line, { res, begin }: Turn): void => {
  line.busy = true
  res.on('close', ended)
  begin()
}

/** One function for all: to make one for each answer, and to take it off again, costs more than the whole line does. */
function ended(this: ServerResponse): void {
  const { socket } = this.req
  const line = lines.get(socket)!
  line.busy = false
  // A connection that is gone, or ends with this answer, answers nobody else: what waits on it is not even begun.
  if (!this.shouldKeepAlive || socket.destroyed) line.waiting.length = 0
  const next = line.waiting.shift()
  if (next !== undefined) take(line, next)
}
