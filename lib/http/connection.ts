import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

interface PendingRequest {
  readonly res: ServerResponse
  readonly begin: () => void
}

/** Requests of one connection, of which one at a time is handled. */
interface Pipeline {
  isBusy: boolean
  readonly waiting: PendingRequest[]
}

/** Waiting requests of one connection; a connection with more is closed. */
const MAX_WAITING = 256

const pipelines = new WeakMap<Socket, Pipeline>()

/**
 * Handles pipelined requests of a connection one after another, each after the response before it has ended. Otherwise a
 * client that never reads could fill the memory with responses by a few kilobytes of requests.
 */
export const inPipelineOrder = (req: IncomingMessage, res: ServerResponse, begin: () => void): void => {
  // HTTP/2 multiplexes requests, and its flow control limits them.
  if (req.httpVersionMajor > 1) return begin()
  let pipeline = pipelines.get(req.socket)
  if (pipeline === undefined) {
    pipeline = { isBusy: false, waiting: [] }
    pipelines.set(req.socket, pipeline)
  }
  if (!pipeline.isBusy) start(pipeline, { res, begin })
  else if (pipeline.waiting.length < MAX_WAITING) pipeline.waiting.push({ res, begin })
  else req.socket.destroy()
}

const start = (pipeline: Pipeline, { res, begin }: PendingRequest): void => {
  pipeline.isBusy = true
  res.on('close', startNext)
  begin()
}

/** One listener for all responses: creating a closure for each one is measurably slower. */
function startNext(this: ServerResponse): void {
  const { socket } = this.req
  const pipeline = pipelines.get(socket)!
  pipeline.isBusy = false
  // No further response can be sent on a connection that closes, so its waiting requests must not change anything.
  if (!this.shouldKeepAlive || socket.destroyed) pipeline.waiting.length = 0
  const next = pipeline.waiting.shift()
  if (next !== undefined) start(pipeline, next)
}
